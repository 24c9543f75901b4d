"""What verifies, beside tests and simulation: the product broken on purpose, and frames that break it."""
