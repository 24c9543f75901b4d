"""The journal in PostgreSQL: one database for several servers, each of which owns its tables by a lease."""
