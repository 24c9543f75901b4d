"""What can be wrong with a server: all mistakes, by their names."""

from bench.chaos.broken import hosting, leases, permitting, storing, telling  # noqa: F401 - each enters its own
from bench.chaos.broken.making import MISTAKES, Mistake

__all__ = ["MISTAKES", "Mistake"]
