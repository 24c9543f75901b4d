"""Several servers with one database: what that costs, and what happens when one of them is gone."""
