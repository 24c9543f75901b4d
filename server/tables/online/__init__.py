"""Who is online, and the lobby chat."""
