"""The rules of Palatinus: pure values and functions, no I/O, no clock, no hidden randomness."""
