"""What belongs to this computer's player: seats, preferences, and how the player is called."""
