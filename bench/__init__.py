"""Measurements: what this program exists for, beside a baseline in the same run."""

from typing import TypeAlias

Samples: TypeAlias = dict[str, list[float]]  # what was measured, by the names of the figures
