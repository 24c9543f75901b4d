"""Run `palatinus` with a mistake in it: `python -m bench.chaos.broken MISTAKE serve ...`."""

import sys

from bench.chaos.broken.mistakes import MISTAKES
from palatinus import main


def broken_main() -> int:
    """Run the program with the mistake that is its first argument."""
    MISTAKES[sys.argv.pop(1)].make()
    return main()


if __name__ == "__main__":
    sys.exit(broken_main())
