"""The PostgreSQL that nodes share."""
