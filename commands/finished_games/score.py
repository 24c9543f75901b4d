"""`palatinus score`: the points of final positions; needs nothing but Python."""

import argparse
import sys
from pathlib import Path

from client.language import CANNOT_READ, WrongUse, _, using_file
from engine.final import BadPosition, scored_line


def add_score(score: argparse.ArgumentParser) -> None:
    score.add_argument("file", help=_("a file of positions, or - for standard input"))


def run_score(arguments: argparse.Namespace) -> int:
    with using_file(CANNOT_READ, arguments.file):
        content = sys.stdin.buffer.read() if arguments.file == "-" else Path(arguments.file).read_bytes()
    if not content.strip():
        raise WrongUse(_("{file} is empty: write one position per line").format(file=arguments.file))
    for number, line in enumerate(content.rstrip().split(b"\n"), start=1):
        try:
            print(scored_line(line.decode()))
        except UnicodeDecodeError as error:
            text = _("{file}: line {number}: it is not UTF-8 text")
            raise WrongUse(text.format(file=arguments.file, number=number)) from error
        except BadPosition as error:
            reason = _(error.text).format(**error.about)
            text = _("{file}: line {number}: {reason}")
            raise WrongUse(text.format(file=arguments.file, number=number, reason=reason)) from error
    return 0
