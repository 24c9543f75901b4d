"""The admin socket: how the host of a running server inspects and controls it."""
