"""Whether everybody saw the same game: what was played and sent, compared with the journal."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.chaos.bots import Player, Received, Seen, Spectator
from bench.chaos.wiretap import Heard, Wiretap
from engine.errors import DamagedRecord
from engine.events import Command, Event, LayTile, Place, Placed, SeenEvent, TileLaid
from engine.game import Game, RandomChance
from engine.pieces import Seat
from engine.record import recorded, replayed
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, eyes_of
from protocol.codec import encode
from protocol.events import event_map, legal_message
from protocol.messages import Events, Lay, PlacePiece, Refused, Seated, ServerMessage, Snapshot
from protocol.snapshot import snapshot_message
from server.storage.entries import Entry, GivenToBot, Played, Returned, StoodIn, events_in
from server.storage.sqlite_journal import SqliteJournal
from server.tables.clocks import Clocks
from server.tables.state import PersistentState

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
    stolen: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)

    def add(self, other: "Verdict") -> None:
        for kind in self.__slots__:
            getattr(self, kind).extend(getattr(other, kind))

    def kinds(self) -> dict[str, list[str]]:
        return {kind: getattr(self, kind) for kind in self.__slots__}

    def __bool__(self) -> bool:
        """Return whether anything is wrong."""
        return any(self.kinds().values())


async def journal_in(data: Path) -> dict[str, list[Entry]]:
    """Return the entries of every table in a data folder that no server uses, archived ones too."""
    journal = SqliteJournal(data)
    try:
        tables = journal.tables()
        for code in list(journal.archived):
            tables[code] = await journal.archived_entries(code)
    finally:
        await journal.close()
    return tables


@dataclass(frozen=True, slots=True)
class _Made:
    """How a move came into the journal, and what each seat had used of its clock after it."""

    entry: Played | StoodIn
    clocks: Clocks


class Judge:
    """Compares a finished game, as its table's journal holds it, with what each client saw of it."""

    def __init__(self, table: str, entries: Sequence[Entry]) -> None:
        self.verdict = Verdict()
        self._table = table
        self._entries = entries
        self._events: list[Event] = []
        self._made: dict[int, _Made] = {}  # by the number of the last event
        self._after: dict[int, Game] = {}
        state = PersistentState(entries, RandomChance(random.Random(0)))
        self.began = state.game is not None
        self._seats = state.names
        clocks: list[tuple[int, int]] = []
        for entry in entries:
            if isinstance(entry, Played | StoodIn):
                self._events += events_in(entry)
                clocks.append((entry.seat, entry.thought))
                now = Clocks(state.absence, len(state.players))
                for seat, thought in clocks:
                    now.charge(Seat(seat), thought)
                self._made[len(self._events)] = _Made(entry, now)

    def game(self, seq: int) -> Game:
        """Return the game after event `seq`."""
        if seq not in self._after:
            self._after[seq] = Game(self._events[:seq], RandomChance(random.Random(0)))
        return self._after[seq]

    def judge(self, players: Sequence[Player], spectators: Iterable[Spectator]) -> None:
        try:
            if replayed(recorded(self._events)).events != self._events:
                self.verdict.different.append(f"{self._table}: its record replays to another game")
        except DamagedRecord as error:
            self.verdict.different.append(f"{self._table}: its record is refused: {error}")
        self._judge_entries()
        for player in players:
            self._judge_moves(player)
            for model in player.models:
                self._judge_seen(f"seat {player.seat}", eyes_of(Seat(player.seat)), model.seen[self._table])
        for spectator in spectators:
            for model in spectator.models:
                self._judge_seen("a spectator", SPECTATOR, model.seen[self._table])

    def check_records(self, texts: Sequence[str]) -> None:
        """The server has written one record of a finished game, and it is that of the game in the journal."""
        if not self.game(len(self._events)).over:
            return
        if not texts:
            self.verdict.lost.append(f"{self._table}: the server wrote no record")
        elif len(texts) > 1:
            self.verdict.doubled.append(f"{self._table}: the server wrote {len(texts)} records")
        elif texts[0] != recorded(self._events, self._seats):
            self.verdict.different.append(f"{self._table}: the server wrote another record")

    def check_requests(self, taps: Iterable[Wiretap]) -> None:
        """Every move in the journal was sent to the server under its id, for its seat."""
        sent = {
            asked.message
            for tap in taps
            for asked in tap.asked
            if isinstance(asked.message, Lay | PlacePiece)
        }
        for made in self._made.values():
            entry = made.entry
            move = entry.move if isinstance(entry, Played) else None
            if isinstance(move, Lay | PlacePiece) and move not in sent:
                self.verdict.invented.append(f"{self._table}: nobody sent {move}")

    def _judge_entries(self) -> None:
        """No seat is given to a bot that has it already: that would have been forgotten."""
        bots: set[int] = set()
        for entry in self._entries:
            match entry:
                case GivenToBot(seat):
                    if seat in bots:
                        self.verdict.lost.append(
                            f"{self._table}: it was forgotten that a bot plays for seat {seat}"
                        )
                    bots.add(seat)
                case Returned(seat):
                    bots.discard(seat)

    def _judge_moves(self, player: Player) -> None:
        """Every move that was acknowledged happened once, and none that was not tried."""
        who, seat = f"{self._table}: seat {player.seat}", Seat(player.seat)
        played: Counter[Command] = Counter()
        late = {move.late_id for move in player.moves if move.outcome == "late"}
        for made in self._made.values():
            if isinstance(made.entry, Played) and made.entry.seat == seat:
                commands = [_command(event, seat) for event in events_in(made.entry)]
                played.update(command for command in commands if command is not None)
                if made.entry.move.id in late:
                    self.verdict.stolen.append(f"{who} moved from a terminal that had lost the seat")
        moves = [move for move in player.moves if move.table == self._table]
        done = Counter(move.command for move in moves if move.outcome == "done")
        may_be = Counter(move.command for move in moves if move.outcome == "unknown")
        for command, times in (done - played).items():
            kind = self.verdict.doubled if times > 1 or played[command] else self.verdict.lost
            kind.append(f"{who} was told that {command} was done, and it was not")
        for command in played - done - may_be:
            self.verdict.invented.append(f"{who} never tried {command}")
        for command, times in played.items():
            if times > 1:
                self.verdict.doubled.append(f"{who} did {command} {times} times")

    def _judge_seen(self, who: str, eyes: Eyes, model: Seen) -> None:
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
        if model.view is not None and model.seq <= len(self._events):
            known = snapshot(self.game(model.seq).view, eyes)
            if (model.view, list(model.view.placed)) != (known, list(known.placed)):
                self.verdict.different.append(f"{who} has another view after event {model.seq}")

    def _seen(self, eyes: Eyes, first: int, last: int) -> list[SeenEvent]:
        return [redacted(event, eyes) for event in self._events[first - 1 : last]]

    def listen(self, tap: Wiretap, tokens: set[str]) -> None:
        """Every byte that the server sent to somebody is one that they may know."""
        for heard in tap.heard:
            if heard.table != self._table:
                continue
            message, frame = heard.message, heard.frame
            receiver = "a spectator" if heard.seat is None else f"seat {heard.seat}"
            who = f"{self._table}: the server sent {receiver}"
            if encode(message) != frame:
                self.verdict.leaked.append(f"{who} more than a message: {frame.hex()}")
            if not isinstance(message, Seated) and any(token.encode() in frame for token in tokens):
                self.verdict.leaked.append(f"{who} a token")
            eyes = SPECTATOR if heard.seat is None else eyes_of(heard.seat)
            if _tells_a_hidden_kind(eyes, message):
                self.verdict.leaked.append(f"{who} the kind of another's wolf: {frame.hex()}")
            if not self._is_so(eyes, heard):
                self.verdict.leaked.append(f"{who} what is wrong, or not for it to know: {frame.hex()}")

    def _is_so(self, eyes: Eyes, heard: Heard) -> bool:
        """Return whether a message says what the journal says, as far as these eyes may know it."""
        message = heard.message
        match message:
            case Events():
                last = message.seq + len(message.events) - 1
                made = self._made.get(last)
                if made is None:  # more than there is, or a part of a move
                    return False
                game = self.game(last)
                seen = [event_map(event) for event in self._seen(eyes, message.seq, last)]
                legal = redacted_legal(game.legal(), eyes)
                may = None if legal is None or message.clock == 0 else legal_message(legal)
                told = replace(message, events=seen, turn=game.view.turn, legal=may)
                return (
                    encode(message) == encode(told)
                    and self._clock_is_so(message.clock, game, made)
                    and message.id in {None, _id_of(made.entry, heard.seat)}
                    and message.by in {None, made.entry.by if isinstance(made.entry, StoodIn) else None}
                )
            case Snapshot():
                made = self._made.get(message.seq)
                if made is None:
                    return False
                game = self.game(message.seq)
                legal = None if message.clock == 0 else redacted_legal(game.legal(), eyes)
                told_snapshot = snapshot_message(snapshot(game.view, eyes), message.seq, legal, message.clock)
                return encode(message) == encode(told_snapshot) and self._clock_is_so(
                    message.clock, game, made
                )
            case Refused() if self.began:
                own = {people for seat in eyes for people in self.game(1).view.start.peoples[seat]}
                return set(_PIECES.findall(message.text)) <= own
        return True

    def _clock_is_so(self, clock: int | None, game: Game, made: _Made) -> bool:
        """Return whether a clock has no more time left than the journal leaves it."""
        turn = game.view.turn
        most = None if turn is None else made.clocks.allowance(turn)
        return clock is None if most is None else clock is not None and clock <= most


def _id_of(entry: Played | StoodIn, seat: Seat | None) -> int | None:
    """Return the id of a move for the seat that made it."""
    return entry.move.id if isinstance(entry, Played) and entry.seat == seat else None


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
