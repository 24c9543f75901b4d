"""What everybody saw, compared with what the journal holds."""
