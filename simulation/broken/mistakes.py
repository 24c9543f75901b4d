"""What can be wrong with a server: all mistakes, by their names."""

from simulation.broken import hosting, leases, permitting, storing, telling  # noqa: F401 - each enters its own
from simulation.broken.making import MISTAKES, Mistake

__all__ = ["MISTAKES", "Mistake"]
