"""An evening for many players: sign-up, draws and standings."""
