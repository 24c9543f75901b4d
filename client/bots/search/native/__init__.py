"""The same search as `client.bots.search.tree`, compiled by numba, where that is installed."""
