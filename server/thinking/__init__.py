"""Work that would hold up the event loop: by turns for those who ask, in a thread or in other processes."""
