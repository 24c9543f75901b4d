"""Run `palatinus` with a mistake in it: `python -m bench.chaos.broken_server MISTAKE serve ...`."""

import sys

from palatinus import main
from simulation.broken.mistakes import MISTAKES


def broken_main() -> int:
    """Run the program with the mistake that is its first argument."""
    MISTAKES[sys.argv.pop(1)].make()
    return main()


if __name__ == "__main__":
    sys.exit(broken_main())
