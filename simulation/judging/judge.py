"""Whether everybody saw the same game: what was played and sent, compared with the journal."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from engine.errors import DamagedRecord
from engine.events import Event, SeenEvent
from engine.game import Game, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded, replayed
from engine.redaction import redacted, redacted_legal, snapshot
from engine.view import SPECTATOR, Eyes, eyes_of
from protocol.codec import encode
from protocol.events import event_map, legal_message, snapshot_message
from protocol.messages import Events, Record, Refused, Seated, ServerMessage, Snapshot
from server.storage.entries import Entry, GivenToBot, Played, Returned, StoodIn, TookBack, whole_events
from simulation.judging.history import GameState, History
from simulation.people.players import SimulatedPlayer
from simulation.people.visitors import Seen, Spectator
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_PIECES: Final = re.compile(r"\b([ESLMA])[mf]\*")


class Judge:
    """Compares a finished game, as its table's journal holds it, with what each client saw of it."""

    def __init__(self, table: str, entries: Sequence[Entry], *, shortened: bool) -> None:
        self.verdict = Verdict()
        self.history = History(table, entries, shortened=shortened)
        self.began = self.history.state.game is not None
        self._table = table
        self._entries = entries
        self._events: list[Event] = []
        self._seed = next((entry.seed for entry in entries if isinstance(entry, Played) and entry.seed), None)
        self._made: dict[int, Played | StoodIn | TookBack] = {}  # by the number of the last event
        self._after: dict[int, Game] = {}
        for entry in entries:
            if isinstance(entry, Played | StoodIn | TookBack):
                self._events += whole_events(entry.events)
                self._made[len(self._events)] = entry

    def game(self, seq: int) -> Game:
        """Return the game after event `seq`."""
        if seq not in self._after:
            self._after[seq] = Game(self._events[:seq], RandomChance(random.Random(0)))
        return self._after[seq]

    def judge(self, players: Sequence[SimulatedPlayer], spectators: Iterable[Spectator]) -> None:
        try:
            if replayed(recorded(self._events)).events != self._events:
                self.verdict.different.append(self._finding("its record replays to another game"))
        except DamagedRecord as error:
            self.verdict.different.append(self._finding(f"its record is refused: {error}"))
        self._judge_entries()
        self.history.check_moves(self.verdict)
        for player in players:
            for model in player.models:
                seen = model.seen[self._table]
                if seen.seat is not None:
                    self._judge_seen(f"seat {seen.seat}", eyes_of(seen.seat), seen)
        for spectator in spectators:
            if spectator.kept_out:
                self.history.check_spectators_kept_out(self.verdict)
            for model in spectator.models:
                self._judge_seen("a spectator", SPECTATOR, model.seen[self._table])

    def check_records(self, texts: Sequence[Sequence[str]]) -> None:
        """One record of a finished game was written, and it is that of the game in the journal.

        `texts` are by the folders of the servers: one may have died before it said that it has written it.
        """
        written = {text for folder in texts for text in folder}
        most = max(map(len, texts), default=0)
        if not self._over:
            if written:
                text = "the server wrote the record of a game without a result"
                self.verdict.leaked.append(self._finding(text))
        elif not written:
            self.verdict.lost.append(self._finding("the server wrote no record"))
        elif most > 1:
            self.verdict.doubled.append(self._finding(f"the server wrote {most} records"))
        elif written != {self._record}:
            self.verdict.different.append(self._finding("the server wrote another record"))

    def _judge_entries(self) -> None:
        """No seat is given to a bot that has it already: that would have been forgotten."""
        bots: set[int] = set()
        for entry in self._entries:
            match entry:
                case GivenToBot(seat):
                    if seat in bots:
                        text = f"it was forgotten that a bot plays for seat {seat}"
                        self.verdict.lost.append(self._finding(text))
                    bots.add(seat)
                case Returned(seat):
                    bots.discard(seat)

    def judge_removed(self, players: Iterable[SimulatedPlayer]) -> None:
        """Nobody lost a seat that was not taken from its player."""
        for player in players:
            if player.table == self._table and player.lost_seat and self.history.holds(player.token):
                text = f"{player.who} was sent away from a seat that nobody has taken from it"
                self.verdict.lost.append(self._finding(text))

    def _finding(self, text: str) -> Finding:
        return Finding(text, self._table)

    @property
    def _over(self) -> bool:
        """Return whether the game has a result."""
        return self.game(len(self._events)).over

    @property
    def _record(self) -> str:
        return recorded(self._events, self.history.state.names)

    def _judge_seen(self, who: str, eyes: Eyes, model: Seen) -> None:
        """What a client knows is what its eyes may know of the journal."""
        if model.fault is not None:
            text = f"{who} found the draws wrong: {model.fault}"
            self.verdict.different.append(Finding(text, self._table, model.at))
        if model.view is not None and model.seq <= len(self._events):
            known = snapshot(self.game(model.seq).view, eyes)
            if (model.view, list(model.view.placed)) != (known, list(known.placed)):
                text = f"{who} has another view after event {model.seq}"
                self.verdict.different.append(Finding(text, self._table, model.at))

    def _seen_events(self, eyes: Eyes, first: int, last: int) -> list[SeenEvent]:
        return [redacted(event, eyes) for event in self._events[first - 1 : last]]

    def listen(self, tap: Wiretap, tokens: set[str]) -> None:
        """Every byte that the server sent to somebody is one that they may know."""
        for heard in tap.heard:
            if heard.table == self._table:
                receiver = "a spectator" if heard.seat is None else f"seat {heard.seat}"
                self.verdict.leaked += [
                    tap.finding(f"the server sent {receiver} {what}: {heard.message}", heard)
                    for what in self._leaks(heard, tokens)
                ]

    def _leaks(self, heard: Heard, tokens: set[str]) -> Iterator[str]:
        """Yield what a message tells that its receiver may not know."""
        message, frame = heard.message, heard.frame
        if encode(message) != frame:
            yield f"more than a message ({frame.hex()})"
        if not isinstance(message, Seated) and any(token.encode() in frame for token in tokens):
            yield "a token"
        eyes = SPECTATOR if heard.seat is None else eyes_of(heard.seat)
        if self._seed and self._seed.encode() in frame and not _tells_the_result(message):
            yield "the seed"
        if _tells_a_hidden_kind(eyes, message):
            yield "the kind of another's wolf"
        if not self._is_so(eyes, heard):
            yield "what is wrong, or not for it to know"

    def _is_so(self, eyes: Eyes, heard: Heard) -> bool:
        """Return whether a message says what the journal says, as far as these eyes may know it."""
        message = heard.message
        match message:
            case Events():
                last = message.seq + len(message.events) - 1
                entry = self._made.get(last)
                if entry is None:  # more than there is, or a part of a move
                    return False
                return (
                    any(
                        self._is_told(message, last, standing, eyes)
                        for standing in self.history.standings[last]
                    )
                    and message.id in {None, _id_of(entry, heard.seat)}
                    and message.by in {None, entry.by if isinstance(entry, StoodIn) else None}
                )
            case Snapshot():
                standings = self.history.standings[message.seq]
                return any(self._is_shown(message, standing, eyes) for standing in standings)
            case Record():
                return self._over and message.lines == self._record.splitlines()
            case Refused() if self.began:
                peoples = dict(
                    enumerate(self.game(1).view.start.peoples)
                )  # of seats that did not go before it
                own = {people for seat in eyes for people in peoples.get(seat, ())}
                return set(_PIECES.findall(message.text)) <= own
        return True

    def _is_told(self, message: Events, last: int, standing: GameState, eyes: Eyes) -> bool:
        """Return whether these eyes may be told `message` while the game stands so after event `last`."""
        game = self.game(last)
        seen = [event_map(event) for event in self._seen_events(eyes, message.seq, last)]
        may = _may(game, standing, eyes, message.clock)
        told = replace(message, events=seen, turn=game.view.turn, legal=may and legal_message(may))
        if message.stood_in:
            told = replace(told, stood_in=self._stood_in(message.seq, last))
        return encode(message) == encode(told) and _clock_is_so(message.clock, game, standing)

    def _is_shown(self, message: Snapshot, standing: GameState, eyes: Eyes) -> bool:
        if message.seq not in self._made:
            return False
        game = self.game(message.seq)
        may = _may(game, standing, eyes, message.clock)
        stood_in = self._stood_in(1, message.seq)
        view, first = snapshot(game.view, eyes), message.seq - len(message.missed) + 1
        missed = self._seen_events(eyes, first, message.seq) if message.missed else []
        shown = snapshot_message(view, message.seq, may, message.clock, stood_in, missed=missed)
        return encode(message) == encode(shown) and _clock_is_so(message.clock, game, standing)

    def _stood_in(self, first: int, last: int) -> list[int]:
        """Return which of these events were moves of the stand-in."""
        return [number for number in self.history.state.stood_in if first <= number <= last]


def _may(game: Game, standing: GameState, eyes: Eyes, clock: int | None) -> Legal | None:
    """Return the legal moves that these eyes may know: none once the time is up, or if nobody may move."""
    return redacted_legal(game.legal(), eyes) if standing.may_move and clock != 0 else None


def _clock_is_so(clock: int | None, game: Game, standing: GameState) -> bool:
    """Return whether a clock has no more time left than the journal leaves it.

    No clock runs for bots of the server.
    """
    if not standing.surely:
        return True
    turn = game.view.turn
    runs = turn is not None and turn not in standing.bots and not standing.ended
    most = standing.clocks.allowance(turn) if turn is not None and runs else None
    return clock is None if most is None else clock is not None and clock <= most


def _id_of(entry: Played | StoodIn | TookBack, seat: Seat | None) -> int | None:
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
            placed += [(each["seat"], each["piece"]) for each in message.missed if each["t"] == "placed"]
        case _:
            return False
    return any(seat not in eyes and len(piece) == len("Em*") for seat, piece in placed)


def _tells_the_result(message: ServerMessage) -> bool:
    """Return whether a message says how the game ended, or is its record."""
    match message:
        case Events():
            return any(event["t"] == "ended" for event in message.events)
        case Snapshot():
            return any(event["t"] == "ended" for event in message.scoring)
    return isinstance(message, Record)
