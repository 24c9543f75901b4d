"""Search: information-set Monte Carlo tree search over the placing phase."""
