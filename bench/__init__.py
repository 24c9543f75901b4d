"""Measurements: what this program exists for, beside a baseline in the same run."""
