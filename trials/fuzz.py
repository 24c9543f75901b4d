"""A coverage-guided fuzzer for frames: the server's decoder, and everything a client does with one.

    pip install atheris
    python -m trials.fuzz [--side server|client|screen|page] [--seconds N] [--corpus DIR]

Whatever the bytes, a frame is either refused with BadMessage in a short printable line, or it is a sound
message: encoded and decoded again it is the same, and a client can take it in. With `--side screen` several
frames come one after another, and each leaves a screen that a terminal can show, whatever key is pressed
next. With `--side page` the bytes are a text frame of a player's page, which is either no choice, or one with
which the page can be drawn at any moment of a game. Anything else ends the run and leaves the frame in a
file `crash-...`. Frames that reached new code stay in the corpus.
"""

import argparse
import contextlib
import functools
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import atheris
import msgpack
import msgspec

with atheris.instrument_imports(include=["protocol", "client", "engine"]):
    from client.network.refusals import describe_refusal
    from client.tables.table import Gap, TableModel, news_of_server
    from client.ui.frame import plain, width_of
    from client.ui.screens import news
    from client.ui.screens.dispatch import after_key
    from client.ui.screens.screen import drawn
    from client.ui.state import Ui
    from client.ui.texts.glyphs import ASCII, UNICODE
    from engine.game import Game, GameOptions, RandomChance
    from engine.pieces import Seat
    from engine.redaction import redacted, redacted_legal, snapshot
    from engine.view import eyes_of
    from pages.drawing.pages import WebPages
    from pages.shared import MoveChoice, PlayerHand
    from protocol.codec import BadMessage, client_message, decode_client, decode_json, decode_server, encode
    from protocol.events import event_map, legal_message, snapshot_message
    from protocol.messages import (
        ClientMessage,
        Events,
        Refused,
        Seated,
        SeatSummary,
        ServerMessage,
        Snapshot,
        Tables,
        TableState,
        TableSummary,
    )
    from simulation.people.random_messages import KINDS, RandomMessages

Message = TypeVar("Message", ClientMessage, ServerMessage)

PAGES: Final = WebPages()
_LONGEST_REFUSAL: Final = 500  # characters
_LENGTH_BYTES: Final = 2  # before each of several frames
_SIZES: Final = ((80, 24), (120, 40))
_KEYS: Final = (*"hjklcrtv?nmfs12345:", "tab", "enter", "escape", "right", "pageup", "space", "f1")
_SEQUENCES: Final = 40
_FRAMES_AT_MOST: Final = 8
_OF_A_KIND: Final = 3


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


def read_by_screen(data: bytes) -> None:
    """Read several frames as the terminal client does; draw the screen after each, and press a key."""
    keys = random.Random(len(data))
    model, ui = TableModel(), Ui("Anna", "ws://there")
    for frame in frames_in(data)[:_FRAMES_AT_MOST]:
        message = _sound(decode_server, frame)
        if message is None:
            continue
        try:
            for update in (news_of_server(message), *model.take(message)):
                ui = ui if update is None else news.after_update(ui, update, model)
        except (BadMessage, Gap):
            continue
        if isinstance(message, Tables):
            ui = news.with_tables(ui, message.tables, model)
        elif isinstance(message, Refused):
            ui = news.with_refusal(ui, describe_refusal(message))
        _check_screen(ui, model, keys)
        ui, _request = after_key(ui, keys.choice(_KEYS), model)
        _check_screen(ui, model, keys)


def read_by_page(text: bytes) -> None:
    """Read a text frame as the server does, and draw the page of the player who has chosen that."""
    try:
        content = decode_json(text.decode())
        if "t" in content:
            client_message(content)
            return
        choice = msgspec.convert(content, MoveChoice)
    except (UnicodeDecodeError, BadMessage, msgspec.ValidationError):
        return
    seats = [SeatSummary("Anna", here=True), SeatSummary("Bruno", here=True)]
    for game in _games():
        eyes = eyes_of(Seat(0))
        legal = game.legal()
        hand = PlayerHand(Seat(0), None if legal is None else redacted_legal(legal, eyes), choice, ())
        view = snapshot(game.view, eyes)
        PAGES.table("en", TableState("AAAA", "playing", seats, 0), view, [], None, hand=hand)


@functools.cache
def _games() -> list[Game]:
    """Return a game as its first tile is laid, its first piece placed, and one of its last."""
    found = []
    for moves in (0, 7, 30):
        game = Game.new(GameOptions(2), RandomChance(rng := random.Random(moves)))
        for _ in range(moves):
            game.apply(rng.choice(game.legal_commands()))
        found.append(game)
    return found


def frames_in(data: bytes) -> list[bytes]:
    """Return the frames that `joined` has put together."""
    found = []
    while data:
        end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])
        found.append(data[_LENGTH_BYTES:end])
        data = data[end:]
    return found


def joined(frames: Iterable[bytes]) -> bytes:
    """Return several frames as one input."""
    return b"".join(len(frame).to_bytes(_LENGTH_BYTES) + frame for frame in frames)


def _check_screen(ui: Ui, model: TableModel, rng: random.Random) -> None:
    width, height = rng.choice(_SIZES)
    lines = drawn(ui, model, rng.choice((ASCII, UNICODE)), width, height).lines
    if len(lines) != height or any(width_of(line) != width for line in lines):
        raise AssertionError("a screen has another size than its terminal")
    if not all(plain(line).isprintable() for line in lines):
        raise AssertionError("a screen has what a terminal would interpret")


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
    return map(RandomMessages(random.Random(1), ["KRTV"]).of, KINDS)


def without_game() -> Iterator[ServerMessage]:
    """Yield messages to start from that are no part of a game."""
    messages = RandomMessages(random.Random(1), ["KRTV"])
    for kind in get_args(ServerMessage):
        if kind not in {Events, Snapshot}:
            yield from (messages.of(kind) for _ in range(_OF_A_KIND))


def from_servers() -> Iterator[ServerMessage]:
    """Yield the messages to start from, those of a whole game among them."""
    yield from without_game()
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


def sequences() -> Iterator[bytes]:
    """Yield inputs for `read_by_screen`: a table, its game from some point on, and what else is sent."""
    rng = random.Random(1)
    others = list(without_game())
    for number in range(_SEQUENCES):
        players, seat = rng.randrange(2, 6), Seat(0)
        seats = [SeatSummary(f"Player {each}", here=True) for each in range(players)]
        game = Game.new(GameOptions(players, random_layout=rng.random() < 0.7), RandomChance(rng))
        while game.legal() is not None and rng.random() < 0.97 - 0.02 * (number % 5):
            game.apply(rng.choice(game.legal_commands()))
        sent = len(game.events)
        messages: list[ServerMessage] = [
            Tables(1, [TableSummary("AAAA", "Anna", players, players, "playing")]),
            Seated(1, "AAAA", seat, "token"),
            TableState("AAAA", "playing", seats, 0),
            snapshot_message(snapshot(game.view, eyes_of(seat)), sent, game.legal()),
        ]
        while game.legal() is not None and len(messages) < _FRAMES_AT_MOST - 1:
            game.apply(rng.choice(game.legal_commands()))
            seen = [event_map(redacted(event, eyes_of(seat))) for event in game.events[sent:]]
            legal = game.legal()
            may = legal_message(legal) if legal is not None and legal.seat == seat else None
            messages.append(Events(sent + 1, seen, game.view.turn, may))
            sent = len(game.events)
        messages.append(rng.choice(others))
        yield joined(encode(message) for message in messages)


def mutated_sequence(data: bytes, longest: int, seed: int) -> bytes:
    """Return other frames: one of them changed, or left out, or sent twice or in another place."""
    rng = random.Random(seed)
    frames = frames_in(data) or [b""]
    at, other = rng.randrange(len(frames)), rng.randrange(len(frames))
    match rng.randrange(8):
        case 0:
            del frames[at]
        case 1:
            frames.insert(other, frames[at])
        case 2:
            frames[at], frames[other] = frames[other], frames[at]
        case _:
            frames[at] = mutated(frames[at], longest, seed)
    return joined(frames)[:longest]


def choices() -> Iterator[bytes]:
    """Yield text frames of a page to start from."""
    yield from (
        b'{"piece":"Em","field":"A1"}',
        b'{"position":3,"orientation":2}',
        b'{"piece":"Ss*"}',
        b'{"t":"say","id":1,"text":"a"}',
    )


def mutated_choice(text: bytes, longest: int, seed: int) -> bytes:
    """Return another text frame: with changed bytes, or, to stay JSON, with one of its values changed."""
    rng = random.Random(seed)
    with contextlib.suppress(ValueError):
        if rng.random() < 0.7:
            return json.dumps(_changed(json.loads(text), rng)).encode()[:longest]
    changed: bytes = atheris.Mutate(text, longest)
    return changed


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
        prog="python -m trials.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--side",
        choices=("server", "client", "screen", "page"),
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
    reads, mutate, seeds = {
        "server": (read_by_server, mutated, map(encode, from_clients())),
        "client": (read_by_client, mutated, map(encode, from_servers())),
        "screen": (read_by_screen, mutated_sequence, sequences()),
        "page": (read_by_page, mutated_choice, choices()),
    }[options.side]
    corpus = options.corpus / options.side
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    arguments = [sys.argv[0], str(corpus), f"-max_total_time={options.seconds}", "-max_len=8192"]
    atheris.Setup(arguments, reads, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
