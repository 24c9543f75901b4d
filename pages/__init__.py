"""Pages for browsers: what a server says to them, and how that is drawn."""
