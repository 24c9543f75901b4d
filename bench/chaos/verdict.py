"""Whether everybody saw the same game: what was played and sent, compared with the journal."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.chaos.bots import Player, Received, Spectator, Witness
from bench.chaos.wiretap import Wiretap
from engine.errors import DamagedRecord
from engine.events import Command, Event, LayTile, Place, Placed, SeenEvent, TileLaid
from engine.game import Game, RandomChance
from engine.pieces import Seat
from engine.record import recorded, replayed
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, eyes_of
from protocol.codec import encode
from protocol.events import event_map, legal_message
from protocol.messages import Events, Refused, Seated, ServerMessage, Snapshot
from protocol.snapshot import snapshot_message
from server.storage.sqlite_journal import SqliteJournal
from server.tables.lobby import chances, kept_tables

_PIECES: Final = re.compile(r"\b([ESLMA])[mf]\*")


@dataclass(slots=True)
class Verdict:
    """What was found wrong, by kind, each with a description of where."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    needless: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    def add(self, other: "Verdict") -> None:
        for kind in self.__slots__:
            getattr(self, kind).extend(getattr(other, kind))

    def kinds(self) -> dict[str, list[str]]:
        return {kind: getattr(self, kind) for kind in self.__slots__}

    def __bool__(self) -> bool:
        """Return whether anything is wrong."""
        return any(self.kinds().values())


async def journal_in(data: Path) -> dict[str, list[Event]]:
    """Return the events of every game in a data folder that no server uses, by table."""
    journal = SqliteJournal(data)
    kept = kept_tables(journal, chances(seed=0))
    await journal.close()
    return {code: seating.game.events for code, seating in kept.items() if seating.game is not None}


class Judge:
    """Compares a finished game, as its table's journal holds it, with what each client saw of it."""

    def __init__(self, table: str, events: Sequence[Event]) -> None:
        self.verdict = Verdict()
        self._table = table
        self._events = events
        self._after: dict[int, Game] = {}

    def game(self, seq: int) -> Game:
        """Return the game after event `seq`."""
        if seq not in self._after:
            self._after[seq] = Game(self._events[:seq], RandomChance(random.Random(0)))
        return self._after[seq]

    def judge(self, players: Sequence[Player], spectators: Iterable[Spectator]) -> None:
        try:
            if replayed(recorded(self._events)).events != list(self._events):
                self.verdict.different.append(f"{self._table}: its record replays to another game")
        except DamagedRecord as error:
            self.verdict.different.append(f"{self._table}: its record is refused: {error}")
        for seat, player in enumerate(players):
            self._judge_moves(Seat(seat), player)
            for model in player.models:
                self._judge_model(f"seat {seat}", eyes_of(Seat(seat)), model)
        for spectator in spectators:
            for model in spectator.models:
                self._judge_model("a spectator", SPECTATOR, model)

    def _judge_moves(self, seat: Seat, player: Player) -> None:
        """Every move that was acknowledged happened once, and none that was not tried."""
        who = f"{self._table}: seat {seat}"
        played = Counter(command for event in self._events if (command := _command(event, seat)) is not None)
        done = Counter(move.command for move in player.moves if move.outcome == "done")
        may_be = Counter(move.command for move in player.moves if move.outcome == "unknown")
        for command, times in (done - played).items():
            kind = self.verdict.doubled if times > 1 or played[command] else self.verdict.lost
            kind.append(f"{who} was told that {command} was done, and it was not")
        for command in played - done - may_be:
            self.verdict.invented.append(f"{who} never tried {command}")
        for command, times in played.items():
            if times > 1:
                self.verdict.doubled.append(f"{who} did {command} {times} times")

    def _judge_model(self, who: str, eyes: Eyes, model: Witness) -> None:
        """What a client took in is what its eyes may know of the journal, each event once."""
        at, who = 0, f"{self._table}: {who}"
        for message in model.received:
            if isinstance(message, Received):
                if message.first > at + 1:
                    self.verdict.lost.append(f"{who} went on at event {message.first} after {at}")
                elif message.first <= at:
                    self.verdict.doubled.append(f"{who} took in event {message.first} after {at}")
                at = message.first + len(message.events) - 1
                if message.events != tuple(self._seen(eyes, message.first, at)):
                    self.verdict.different.append(f"{who} saw other events from {message.first} to {at}")
            else:
                if message.seq < at:
                    self.verdict.lost.append(f"{who} had {at} events when the server knew of {message.seq}")
                elif at > 0:
                    self.verdict.needless.append(f"{who} was sent everything though it had {at} events")
                at = message.seq
        if model.view is not None:
            known = snapshot(self.game(model.seq).view, eyes)
            if (model.view, list(model.view.placed)) != (known, list(known.placed)):
                self.verdict.different.append(f"{who} has another view after event {model.seq}")

    def _seen(self, eyes: Eyes, first: int, last: int) -> list[SeenEvent]:
        return [redacted(event, eyes) for event in self._events[first - 1 : last]]

    def listen(self, tap: Wiretap, tokens: set[str]) -> None:
        """Every byte that the server sent to somebody is one that they may know."""
        for seat, frame, message in tap.heard:
            who = f"{self._table}: the server sent {'a spectator' if seat is None else f'seat {seat}'}"
            if encode(message) != frame:
                self.verdict.leaked.append(f"{who} more than a message: {frame.hex()}")
            if not isinstance(message, Seated) and any(token.encode() in frame for token in tokens):
                self.verdict.leaked.append(f"{who} a token")
            eyes = SPECTATOR if seat is None else eyes_of(seat)
            if _tells_a_hidden_kind(eyes, message):
                self.verdict.leaked.append(f"{who} the kind of another's wolf: {frame.hex()}")
            if not self._is_so(eyes, message):
                self.verdict.leaked.append(f"{who} what is wrong, or not for it to know: {frame.hex()}")

    def _is_so(self, eyes: Eyes, message: ServerMessage) -> bool:
        """Return whether a message says what the journal says, as far as these eyes may know it."""
        match message:
            case Events():
                last = message.seq + len(message.events) - 1
                game = self.game(last)
                seen = [event_map(event) for event in self._seen(eyes, message.seq, last)]
                legal = redacted_legal(game.legal(), eyes)
                may = None if legal is None else legal_message(legal)
                return encode(message) == encode(
                    replace(message, events=seen, turn=game.view.turn, legal=may)
                )
            case Snapshot():
                game = self.game(message.seq)
                view = snapshot(game.view, eyes)
                legal = redacted_legal(game.legal(), eyes)
                return encode(message) == encode(snapshot_message(view, message.seq, legal))
            case Refused():
                own = {people for seat in eyes for people in self.game(1).view.start.peoples[seat]}
                return set(_PIECES.findall(message.text)) <= own
        return True


def _tells_a_hidden_kind(eyes: Eyes, message: ServerMessage) -> bool:
    """Return whether a message names the kind of another seat's wolf piece before the scoring.

    It does not use the engine's redaction, so that an error there is not taken for correct.
    """
    match message:
        case Events():
            placed = [(event["seat"], event["piece"]) for event in message.events if event["t"] == "placed"]
        case Snapshot(scoring=[]):
            placed = [(seat, piece) for seat, piece, _ in message.placed]
        case _:
            return False
    return any(seat not in eyes and len(piece) == len("Em*") for seat, piece in placed)


def _command(event: Event, seat: Seat) -> Command | None:
    match event:
        case TileLaid() if event.seat == seat:
            return LayTile(seat, event.position, event.orientation)
        case Placed() if event.seat == seat:
            return Place(seat, event.piece, event.field)
    return None
