"""A table's lasting state: what its journal entries fold into, and which of them still count."""
