"""A table's lasting state: options, who sits where, the game, and which moves were answered.

It is the fold of the table's journal entries and nothing else, so that a restart finds it again.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from engine.events import Event, WolfPlaced
from engine.game import Chance, Game, GameOptions
from engine.pieces import Seat
from protocol.absence import WAIT, Absence, kept
from protocol.codec import BadMessage
from protocol.events import event_of
from protocol.messages import AtTable, Done, Refused
from server.storage.entries import (
    Continued,
    Entry,
    Forgotten,
    Freed,
    Held,
    Kept,
    Opened,
    Played,
    Returned,
    StoodIn,
    Taken,
    Voted,
)
from server.tables.clocks import Clocks

_ANSWERS_KEPT: Final = 64  # more than the moves of any seat in a game

Stage: TypeAlias = Literal["gathering", "playing", "over"]
Answer: TypeAlias = Done | Refused


@dataclass(slots=True)
class Player:
    """Who holds a seat, a person or a `program`; a `kept` one waits for a player of the game before."""

    name: str
    token_hash: str
    program: bool = False
    kept: bool = False
    answers: OrderedDict[int, tuple[AtTable, Answer]] = field(default_factory=OrderedDict)

    def remember(self, message: AtTable, answer: Answer) -> None:
        """Keep the answer in case the message comes again."""
        self.answers[message.id] = (message, answer)
        if len(self.answers) > _ANSWERS_KEPT:
            self.answers.popitem(last=False)


class Seating:
    """The fold of a table's entries; `chance` decides what its game still has to draw."""

    def __init__(self, entries: Iterable[Entry], chance: Chance) -> None:
        self.chance = chance
        self.opened = Opened(2, random_layout=False, starting=None)
        self.options = GameOptions(2)
        self.absence: Absence = WAIT
        self.clocks = Clocks(WAIT, 0)
        self.held: set[Seat] = set()  # by a bot
        self.votes: dict[Seat, set[Seat]] = {}  # by seat to be held: who agrees
        self.players: list[Player | None] = []
        self.game: Game | None = None
        self.next: str | None = None  # the table where they play again
        self.forgotten = False
        self.entries = 0
        for entry in entries:
            self.fold(entry)

    @property
    def stage(self) -> Stage:
        if self.game is None:
            return "gathering"
        return "over" if self.game.over else "playing"

    @property
    def names(self) -> list[str]:
        """Return the players' names by seat, empty ones for free seats."""
        return ["" if player is None else player.name for player in self.players]

    @property
    def host(self) -> Seat | None:
        """Return the lowest taken seat: the host, or the one who is left to be it."""
        taken = (seat for seat, player in enumerate(self.players) if player is not None and not player.kept)
        return next(map(Seat, taken), None)

    @property
    def programs(self) -> set[Seat]:
        """Return the seats that programs hold, and no persons."""
        return {
            Seat(seat) for seat, player in enumerate(self.players) if player is not None and player.program
        }

    def fold(self, entry: Entry) -> None:
        """Take in the next entry."""
        self.entries += 1
        match entry:
            case Opened(players, random_layout, starting, absence):
                self.opened = entry
                self.absence = kept(absence)
                self.clocks = Clocks(absence, players)
                self.options = GameOptions(
                    players, None if starting is None else Seat(starting), random_layout
                )
                self.players = [None] * players
            case Taken(seat, name, token_hash, program):
                self.players[seat] = Player(name, token_hash, program)
            case Kept(seat, name, token_hash, program):
                self.players[seat] = Player(name, token_hash, program, kept=True)
            case Freed(seat):
                self.players[seat] = None
            case Played() | StoodIn():
                self._play(entry, [_whole(event) for event in entry.events])
            case Continued(code):
                self.next = code
            case Voted(seat, by, True):
                self.votes.setdefault(Seat(seat), set()).add(Seat(by))
            case Voted(seat, by):
                self.votes.get(Seat(seat), set()).discard(Seat(by))
            case Held(seat):
                self.held.add(Seat(seat))
                self.votes.pop(Seat(seat), None)
            case Returned(seat):
                self.held.discard(Seat(seat))
                self.votes.pop(Seat(seat), None)
            case Forgotten():
                self.forgotten = True

    def played(self, entry: Played | StoodIn, happened: Iterable[Event]) -> None:
        """Take in a move whose events are at hand already."""
        self.entries += 1
        self._play(entry, happened)

    def _play(self, entry: Played | StoodIn, happened: Iterable[Event]) -> None:
        if self.game is None:
            self.game = Game(happened, self.chance)
        else:
            for event in happened:
                self.game.fold(event)
        if entry.thought:
            self.clocks.charge(Seat(entry.seat), entry.thought)
        if isinstance(entry, Played) and (player := self.players[entry.seat]) is not None:
            player.remember(entry.move, Done(entry.move.id))


def _whole(content: dict[str, object]) -> Event:
    event = event_of(content)
    if isinstance(event, WolfPlaced):
        raise BadMessage("a journal holds whole events, not redacted ones")
    return event
