"""Playing: the start screen, games here and on other servers, bots, and the lessons."""
