"""Sets limits on memory and files, and becomes the program whose words are the arguments.

It runs as a program of its own, on platforms that have such limits, and imports nothing else of Palatinus.
The league has threads, so no code of its own may run in a child before that becomes another program.
"""

import os
import resource
import sys
from typing import Final

# Processes that the program starts inherit them.
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
        return f"{error.strerror} ({words[0]})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
