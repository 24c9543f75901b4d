"""The arena: brains play each other many times in processes of their own, to show which is how strong."""
