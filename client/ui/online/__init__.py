"""What the program that plays on a server does there for its player."""
