"""What users type, and what is wrong with it."""
