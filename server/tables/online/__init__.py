"""Who is online, and what they say to each other in the lobby."""
