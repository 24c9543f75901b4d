"""Run the suite many times in a row, and print how long each run took and what failed in it.

`python -m trials.repeated 50` has to print no failure. With `--beside 4`, so many processes compute without
a pause at the same time, as on a busy machine: nothing may fail there either. With `--shuffled`, each run has
its tests in another order, which the number of the run decides: no test may depend on those before it.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

_ROOT: Final = Path(__file__).parents[1]
_ORDER: Final = "PALATINUS_ORDER_OF_TESTS"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.repeated",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("times", type=int, help="how often")
    parser.add_argument("--beside", type=int, default=0, metavar="NUMBER", help="busy processes beside it")
    parser.add_argument("--shuffled", action="store_true", help="in another order each time")
    parser.add_argument("words", nargs="*", help="what else to tell pytest, after --")
    options = parser.parse_args()
    failed = 0
    with _busy(options.beside):
        for number in range(1, options.times + 1):
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", "-rfE", *options.words]
            environment = dict(os.environ)
            if options.shuffled:
                command += ["-p", __spec__.name]
                environment[_ORDER] = str(number)
            done = subprocess.run(
                command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
            )
            seconds = time.monotonic() - began
            *_, last = done.stdout.strip().splitlines() or [done.stderr]
            print(f"{number}: {seconds:.0f} s, {last}", flush=True)
            if done.returncode:
                failed += 1
                print(done.stdout, flush=True)
                for name in re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
                    print(f"{number}: {name}", flush=True)
    print(f"{options.times} runs, {failed} failed")
    return min(failed, 1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests, in all of pytest's processes alike, which load this module as a plugin."""
    random.Random(os.environ[_ORDER]).shuffle(items)


@contextlib.contextmanager
def _busy(number: int) -> Iterator[None]:
    """Keep so many processes busy until the context ends."""
    busy = [multiprocessing.Process(target=_compute, daemon=True) for _ in range(number)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()


def _compute() -> NoReturn:
    while True:
        pass


if __name__ == "__main__":
    sys.exit(main())
