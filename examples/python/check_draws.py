"""Check the draws of a record in version 2, by docs/fairness.md alone: nothing of the project is imported.

python check_draws.py RECORD
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path


def digest(line: str) -> str:
    return hashlib.sha256(line.encode("ascii")).hexdigest()


def numbers(key: str, purpose: str) -> Iterator[int]:
    block = 0
    while True:
        yield from bytes.fromhex(digest(f"palatinus draw 1 {key} {purpose} {block}"))
        block += 1


def below(limit: int, stream: Iterator[int]) -> int:
    return next(byte for byte in stream if byte < 256 - 256 % limit) % limit


def shuffled(items: list[str], stream: Iterator[int]) -> list[str]:
    for i in range(len(items) - 1, 0, -1):
        j = below(i + 1, stream)
        items[i], items[j] = items[j], items[i]
    return items


def wrong_draws(record: str) -> Iterator[str]:
    """Yield what does not follow from the seed and the shares."""
    lines = [words for line in record.splitlines() if (words := line.split()) and words[0] != "#"]

    def words_after(*start: str) -> list[list[str]]:
        """Return the rest of each line that begins with these words."""
        return [words[len(start) :] for words in lines if words[: len(start)] == [*start]]

    if not (seeds := words_after("seed")):
        sys.exit("There is no seed to check: the record has version 1, or its game has no result.")
    ((seed,),) = seeds
    shares = [share for _seat, share in words_after("share")]
    # At an evening, the tables of a round may have the same draws, however many seats they have.
    contributed = "round" if set(shares) == {"round"} else " ".join(shares)
    key = digest(f"palatinus game 1 {seed} {contributed}")

    if words_after("commitment") != [[digest(f"palatinus seed 1 {seed}")]]:
        yield "commitment"

    ((starts, how),) = words_after("starts")
    if how == "drawn" and int(starts) != below(len(shares), numbers(key, "starting")):
        yield "starting seat"

    tiles = shuffled(list("ABCDEFG"), numbers(key, "tiles"))
    laid = words_after("tile")
    if words_after("layout", "random"):
        stream = numbers(key, "orientations")
        turns = ["0", *[str(below(6, stream)) for _ in range(6)]]
        if [tile for tile, _position, _turn in laid] != tiles:
            yield "tiles"
        if [turn for _tile, _position, turn in laid] != turns:
            yield "orientations"
    elif [laid[0][0], *[words[2] for words in lines if words[1] == "draws"]] != tiles:
        yield "tiles"

    names = ["Capitolinus", "Quirinalis", "Esquilinus", "Aventinus", "Viminalis", "Caelius"]
    laurels = iter(shuffled(names, numbers(key, "laurels")))
    dealt = [[tile, "Palatinus" if tile == tiles[0] else next(laurels)] for tile in "ABCDEFG"]
    if words_after("laurel") != dealt:
        yield "laurels"


if __name__ == "__main__":
    if wrong := list(wrong_draws(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        sys.exit(f"Wrong: {', '.join(wrong)}.")
    print("The draws are right.")
