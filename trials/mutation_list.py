"""The mutations of mutations.txt: a text of the product, what replaces it, and tests that should notice."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MUTATIONS: Final = Path(__file__).with_name("mutations.txt")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A text in a file of the product, what replaces it, and the tests that should notice."""

    area: str
    tests: tuple[str, ...]
    name: str
    path: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """Return the source with the mutation in it; raises ValueError unless its text is there once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {source.count(self.old)} times in {self.path}: {self.old}")
        return source.replace(self.old, self.new)


def mutations(text: str) -> Iterator[Mutation]:
    """Yield what mutations.txt holds; its first paragraph says how it is written."""
    area, tests = "", tuple[str, ...]()
    for paragraph in text.split("\n\n")[1:]:
        head, *lines = paragraph.strip("\n").splitlines()
        if head.startswith("# "):
            area, _, files = head.removeprefix("# ").partition(":")
            tests = tuple(files.split())
            continue
        path, *changes = lines
        old, new = ("\n".join(line[1:] for line in changes if line.startswith(sign)) for sign in ("-", "+"))
        yield Mutation(area, tests, head, path, old, new)
