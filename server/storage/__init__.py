"""What outlives the process: the journal of all tables, its archive, and records of finished games."""
