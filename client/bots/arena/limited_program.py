"""Starts a program, whose words are the arguments, with limits on what it may use up.

It is run as a file of its own, where the platform has such limits, and imports nothing else of Palatinus.
They are set after the program's process was started and before it is the program: in between, code of a
process with threads must not run.
"""

import os
import resource
import sys
from typing import Final

# Each process that the program starts has the same.
MOST: Final = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_DATA: 4 * 2**30,  # bytes of memory
    resource.RLIMIT_FSIZE: 2**30,  # bytes of a file
}


def main(words: list[str]) -> str:
    """Become the program; return why that cannot be done."""
    for limit, most in MOST.items():
        hard = resource.getrlimit(limit)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, allowed))
    try:
        os.execvp(words[0], words)  # noqa: S606 - the user has named it
    except OSError as error:
        return f"{words[0]}: {error.strerror}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
