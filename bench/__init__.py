"""Measurements of what matters here, each beside a baseline in the same run."""

from typing import TypeAlias

Samples: TypeAlias = dict[str, list[float]]  # what was measured, by the names of the figures
