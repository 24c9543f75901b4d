"""Run `palatinus` with a mistake in it: `python -m bench.chaos.broken MISTAKE serve ...`."""

import sys

from bench.chaos.broken.mistakes import MISTAKES
from palatinus import main

if __name__ == "__main__":
    MISTAKES[sys.argv.pop(1)].make()
    sys.exit(main())
