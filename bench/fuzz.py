"""A coverage-guided fuzzer for frames: the server's decoder, and everything a client does with one.

    pip install atheris
    python -m bench.fuzz [--side server|client] [--seconds N] [--corpus DIR]

Whatever the bytes, a frame is either refused with BadMessage in a short printable line, or it is a sound
message: encoded and decoded again it is the same, and a client can take it in. Anything else ends the
run and leaves the frame in a file `crash-...`. Frames that reached new code stay in the corpus.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import atheris
import msgpack

with atheris.instrument_imports(include=["protocol", "client", "engine"]):
    from client.table import Gap, TableModel
    from engine.game import Game, GameOptions, RandomChance
    from engine.pieces import Seat
    from engine.redaction import redacted, snapshot
    from engine.view import eyes_of
    from protocol.codec import BadMessage, decode_client, decode_server, encode
    from protocol.events import event_map, legal_message
    from protocol.messages import (
        ClientMessage,
        Events,
        Hello,
        JoinTable,
        Lay,
        OpenTable,
        PlacePiece,
        Refused,
        Resume,
        Said,
        Say,
        Seated,
        SeatSummary,
        ServerMessage,
        Tables,
        TableState,
        TableSummary,
        Welcome,
    )
    from protocol.snapshot import snapshot_message

Message = TypeVar("Message", ClientMessage, ServerMessage)

_LONGEST_REFUSAL: Final = 500  # characters


def read_by_server(frame: bytes) -> None:
    """Read a frame as the server does."""
    _sound(decode_client, frame)


def read_by_client(frame: bytes) -> None:
    """Read a frame as a client at a table does, take it in, and check the table afterwards."""
    message = _sound(decode_server, frame)
    if message is None:
        return
    model = TableModel()
    model.take(Seated(1, "AAAA", Seat(0), "token"))
    try:
        model.take(message)
    except BadMessage as error:
        _check_refusal(error)
    except Gap:
        pass
    else:
        if model.view is not None:
            _ = model.view.board, model.view.layout


def _sound(decode: Callable[[bytes], Message], frame: bytes) -> Message | None:
    try:
        message = decode(frame)
    except BadMessage as error:
        _check_refusal(error)
        return None
    if decode(encode(message)) != message:
        raise AssertionError(f"{message} is another message after encoding and decoding")
    return message


def _check_refusal(error: BadMessage) -> None:
    text = str(error)
    if not text.isprintable() or not 0 < len(text) <= _LONGEST_REFUSAL:
        raise AssertionError(f"this cannot be shown: {text!r}")


def from_clients() -> Iterator[ClientMessage]:
    """Yield the messages to start from."""
    yield Hello([1], "fuzz")
    yield OpenTable(1, 4, "Anna", random_layout=True, starting=2)
    yield JoinTable(2, "KRTV", "Zoë", 3)
    yield Resume(3, "KRTV", "x" * 43, 17)
    yield Lay(4, 6, 5)
    yield PlacePiece(5, "Em*", "C4")
    yield Say(6, "well played")


def from_servers() -> Iterator[ServerMessage]:
    """Yield the messages to start from, those of a whole game among them."""
    yield Welcome(1, "palatinus/1")
    yield Tables(1, [TableSummary("KRTV", "Anna", 4, 2, "gathering")])
    yield TableState("KRTV", "playing", [SeatSummary("Anna", here=True), SeatSummary()], 0)
    yield Refused("field-taken", "C4 is taken.", 7, "R4.1")
    yield Said("hm", 2)
    chance = random.Random(1)
    game, eyes = Game.new(GameOptions(2), RandomChance(chance)), eyes_of(Seat(0))
    sent = 0
    while (legal := game.legal()) is not None:
        seen = [event_map(redacted(event, eyes)) for event in game.events[sent:]]
        yield Events(sent + 1, seen, game.view.turn, legal_message(legal))
        yield Events(1, seen, game.view.turn, legal_message(legal))
        sent = len(game.events)
        game.apply(chance.choice(game.legal_commands()))
        yield snapshot_message(snapshot(game.view, eyes), sent, game.legal())


def mutated(frame: bytes, longest: int, seed: int) -> bytes:
    """Return another frame: with changed bytes, or, to stay msgpack, with one of its values changed."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        changed: bytes = atheris.Mutate(frame, longest)
        return changed
    try:
        content = msgpack.unpackb(frame, strict_map_key=False)
        changed = msgpack.packb(_changed(content, rng))
    except (ValueError, TypeError, OverflowError):  # it was not msgpack, or cannot be after the change
        changed = atheris.Mutate(frame, longest)
    return changed[:longest]


_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    6,
    42,
    2**31,
    2**64 - 1,
    0.5,
    "",
    "A1",
    "E*",
    "Es*",
    "\x1b",
    [],
    {},
    [[]],
)


def _changed(content: Any, rng: random.Random) -> Any:
    if isinstance(content, dict) and content and rng.random() < 0.9:
        key = rng.choice(list(content))
        changed = dict(content)
        match rng.randrange(8):
            case 0:
                del changed[key]
            case 1:
                changed[rng.choice(["t", "id", "seq", "seat", "field", "x"])] = rng.choice(_VALUES)
            case _:
                changed[key] = _changed(content[key], rng)
        return changed
    if isinstance(content, list) and content and rng.random() < 0.9:
        at = rng.randrange(len(content))
        change = rng.choice([[], [content[at], content[at]], [_changed(content[at], rng)]])
        return [*content[:at], *change, *content[at + 1 :]]
    if isinstance(content, int) and rng.random() < 0.5:
        return content + rng.choice([-1, 1, 7])
    return rng.choice(_VALUES)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--side",
        choices=("server", "client"),
        default="server",
        help="the side that reads the frames (default: server)",
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path(".fuzz"),
        help="folder for frames that reach new code (default: .fuzz)",
    )
    options = parser.parse_args()
    reads, messages = {
        "server": (read_by_server, from_clients()),
        "client": (read_by_client, from_servers()),
    }[options.side]
    corpus = options.corpus / options.side
    corpus.mkdir(parents=True, exist_ok=True)
    for number, message in enumerate(messages):
        (corpus / f"seed-{number}").write_bytes(encode(message))
    arguments = [sys.argv[0], str(corpus), f"-max_total_time={options.seconds}", "-max_len=8192"]
    atheris.Setup(arguments, reads, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
