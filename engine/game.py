"""A game: it refuses commands or applies them, and returns what happened as events."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Protocol, Self

from engine import events as facts
from engine.board import (
    CENTRE,
    FIELDS,
    ORIENTATIONS,
    OUTER_POSITIONS,
    TILES,
    LaidTile,
    Layout,
    Tile,
    bordering,
)
from engine.components import DEALS, OTHER_LAURELS, PEOPLES, Laurel, peoples_by_seat
from engine.draws import Bytes32, Draws, Outcomes, Share, commitment_to, laurels_by_tile, outcomes
from engine.errors import Fault, IllegalCommand
from engine.events import Command, Event, LayTile, Place, Placed, TakenBack
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import FACES, SOLDIER, People, Piece, Seat
from engine.scoring import Board, scored
from engine.view import LAYING, PLACING, View, free_fields


class Chance(Protocol):
    """Where chance comes from: random in a new game, given in a replay.

    If it can be checked, `draws` gives its sources at the start, with whether the starting seat is drawn, and
    `seed` reveals the seed at the end.
    """

    def starting(self, seats: Sequence[Seat]) -> Seat: ...
    def tile(self, bag: Sequence[Tile]) -> Tile: ...
    def orientation(self, position: int) -> int: ...
    def laurels(self) -> Sequence[Laurel]: ...

    def draws(self, *, starting: bool) -> Draws | None:  # noqa: ARG002 - none of it can be checked
        return None

    def seed(self) -> Bytes32 | None:
        return None


class RandomChance(Chance):
    """Chance drawn from a generator; the same seed gives the same game on every machine."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def starting(self, seats: Sequence[Seat]) -> Seat:
        return self._rng.choice(seats)

    def tile(self, bag: Sequence[Tile]) -> Tile:
        return self._rng.choice(bag)

    def orientation(self, position: int) -> int:  # noqa: ARG002 - the generator gives the next one
        return self._rng.choice(ORIENTATIONS)

    def laurels(self) -> Sequence[Laurel]:
        return self._rng.sample(OTHER_LAURELS, len(OTHER_LAURELS))


class SharedChance(Chance):
    """Chance drawn from a server's seed and the players' shares, by seat, so that everybody can check it."""

    def __init__(self, seed: Bytes32, shares: Sequence[Share]) -> None:
        self._seed = seed
        self._shares = tuple(shares)

    @cached_property
    def _due(self) -> Outcomes:
        return outcomes(self._seed, self._shares)

    def starting(self, seats: Sequence[Seat]) -> Seat:
        assert len(seats) == len(self._shares)
        return self._due.starting

    def tile(self, bag: Sequence[Tile]) -> Tile:
        return next(tile for tile in self._due.tiles if tile in bag)

    def orientation(self, position: int) -> int:
        return self._due.orientations[position - 1]

    def laurels(self) -> Sequence[Laurel]:
        return self._due.laurels

    def draws(self, *, starting: bool) -> Draws | None:
        return Draws(commitment_to(self._seed), self._shares, starting)

    def seed(self) -> Bytes32 | None:
        return self._seed


@dataclass(frozen=True, slots=True)
class GameOptions:
    """How a game starts: 2 to 5 players; who begins, None to draw; tiles laid by players or at random.

    `peoples` has for each seat the peoples that it has chosen, if any (`peoples_by_seat`).
    Raises ValueError for a number of players, a starting seat or peoples that are not allowed.
    """

    players: int
    starting: Seat | None = None
    random_layout: bool = False
    peoples: tuple[tuple[People, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.players not in DEALS:
            raise ValueError(f"{self.players} players cannot play: choose {min(DEALS)} to {max(DEALS)}")
        if self.starting is not None and self.starting not in range(self.players):
            raise ValueError(f"seat {self.starting} cannot start: choose 0 to {self.players - 1}")
        peoples_by_seat(self.players, self.peoples)


_FIELDS: Final = frozenset(FIELDS)
_SOLDIER: Final = {people: Piece.of(people, SOLDIER) for people in PEOPLES}
_IN_ORDER: Final = [Piece(people + face) for people in PEOPLES for face in FACES]
_PLACE_OF: Final = {piece: place for place, piece in enumerate(_IN_ORDER)}


class Game:
    """A running or finished game: commands in, events out.

    `view` knows everything and is only to be read; `events` is all that has happened.
    """

    def __init__(self, events: Iterable[Event], chance: Chance) -> None:
        """Resume the game of these `events`; `chance` decides what is still to be drawn."""
        self.events: list[Event] = []
        self.view = View(eyes=frozenset())
        self._chance = chance
        self._layout: Layout | None = None  # once the laurels are dealt
        self._free = dict.fromkeys(FIELDS)  # in name order
        for event in events:
            self.fold(event)

    @classmethod
    def new(cls, options: GameOptions, chance: Chance) -> Self:
        """Start a game and turn up its first tiles (R3)."""
        return cls(_opening(options, chance), chance)

    @property
    def over(self) -> bool:
        return self.view.result is not None

    def legal(self) -> Legal | None:
        """Return the legal moves of the seat whose turn it is; None when the game is over."""
        view = self.view
        if view.turn is None:
            return None
        if view.phase is LAYING:
            return LegalLays(view.turn, _free_positions(view), tuple(ORIENTATIONS))
        hand = view.hands[view.turn]
        due = _soldiers_due(view, view.turn)
        pieces = _sorted([piece for piece in hand if piece.kind is SOLDIER] if due else hand)
        return LegalPlaces(view.turn, pieces, tuple(self._free))

    def legal_commands(self) -> list[Command]:
        """Return every command that `apply` would accept now."""
        legal = self.legal()
        return [] if legal is None else list(legal.commands())

    def apply(self, command: Command) -> tuple[Event, ...]:
        """Play `command` and return what happened.

        Raises IllegalCommand, and changes nothing, if a rule forbids it.
        """
        events = self.decided(command)
        for event in events:
            self.fold(event)
        return events

    def decided(self, command: Command) -> tuple[Event, ...]:
        """Return what `command` leads to, and change nothing: a server stores events before it folds them.

        Raises IllegalCommand if a rule forbids it.
        """
        view = self.view
        self.check_turn(command.seat)
        if isinstance(command, Place):
            _check_place(view, command)
            return tuple(_place_events(view, command, self._layout or view.layout, self._chance))
        _check_lay(view, command)
        return tuple(_lay_events(view, command, self._chance))

    def check_place(self, command: Place) -> None:
        """Raise IllegalCommand unless the seat could place this if it were its turn now."""
        if self.over:
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
        _check_place(self.view, command)

    def taken_back(self, seat: Seat) -> TakenBack:
        """Return what happens if the seat's last placement is taken back, with all that followed it.

        No tile that lies is taken back: the next draw, which would be the same, has been seen (R3.3).
        Changes nothing; raises IllegalCommand if there is nothing to take back.
        """
        if self.over:
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
        if not (fields := self.view.since(seat)):
            raise IllegalCommand(Fault.NOTHING_TO_TAKE_BACK, "R4.1")
        return TakenBack(seat, fields)

    def fold(self, event: Event) -> None:
        """Fold in an event that `decided` returned, or one of a game that is being rebuilt."""
        view = self.view
        if isinstance(event, Placed):  # most events
            view.fold(event)
            self._free.pop(event.field, None)
        else:
            if isinstance(event, facts.GameStarted):
                view.eyes = frozenset(Seat(seat) for seat in range(len(event.peoples)))
            view.fold(event)
            if isinstance(event, TakenBack):
                self._free = dict.fromkeys(free_fields(view))
            elif isinstance(event, facts.LaurelsDealt):
                self._layout = view.layout  # now, and not when the game's last move needs it
        self.events.append(event)

    def check_turn(self, seat: Seat) -> None:
        """Raise IllegalCommand unless it is the seat's turn."""
        view = self.view
        if view.turn is None:
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
        if seat != view.turn:
            rule = "R3.3" if view.phase is LAYING else "R4.1"
            raise IllegalCommand(Fault.NOT_YOUR_TURN, rule, seat=view.turn)


def _sorted(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    return tuple(sorted(pieces, key=_PLACE_OF.__getitem__))


def _opening(options: GameOptions, chance: Chance) -> Iterator[Event]:
    deal = DEALS[options.players]
    seats = [Seat(seat) for seat in range(options.players)]
    starting = chance.starting(seats) if options.starting is None else options.starting
    peoples = peoples_by_seat(options.players, options.peoples)
    hands = tuple(deal.hand(own[0], own[1] if deal.second else None) for own in peoples)
    draws = chance.draws(starting=options.starting is None)
    yield facts.GameStarted(starting, peoples, hands, deal.soldierless_at, draws)
    bag = list(TILES)
    if options.random_layout:
        tiles = []
        for position in range(len(TILES)):
            tile = chance.tile(bag)
            bag.remove(tile)
            tiles.append(LaidTile(tile, 0 if position == CENTRE else chance.orientation(position)))
        yield facts.LayoutDrawn(tuple(tiles))
        yield _laurels_dealt(tiles[CENTRE], chance)
    else:
        centre = chance.tile(bag)
        bag.remove(centre)
        yield facts.CentreTurned(centre)
        yield facts.TileDrawn(starting, chance.tile(bag))


def _laurels_dealt(centre: LaidTile | None, chance: Chance) -> facts.LaurelsDealt:
    assert centre is not None  # it is the first tile to lie (R3.2)
    return facts.LaurelsDealt(laurels_by_tile(centre.tile, chance.laurels()))


def _free_positions(view: View) -> tuple[int, ...]:
    free = [position for position in OUTER_POSITIONS if view.tiles[position] is None]
    if len(free) == len(OUTER_POSITIONS):
        return tuple(free)
    return tuple(
        position for position in free if any(view.tiles[beside] is not None for beside in bordering(position))
    )


def _check_lay(view: View, command: LayTile) -> None:
    if view.phase is not LAYING:
        raise IllegalCommand(Fault.ALL_TILES_LAID, "R4.1")
    free = ", ".join(map(str, _free_positions(view)))
    if command.position not in OUTER_POSITIONS:
        raise IllegalCommand(Fault.NOT_AN_OUTER_POSITION, "R3.3", position=command.position, free=free)
    if command.orientation not in ORIENTATIONS:
        raise IllegalCommand(Fault.NOT_AN_ORIENTATION, "R3.3", orientation=command.orientation)
    if view.tiles[command.position] is not None:
        raise IllegalCommand(Fault.POSITION_TAKEN, "R3.3", position=command.position, free=free)
    if command.position not in _free_positions(view):
        raise IllegalCommand(Fault.POSITION_APART, "R3.3", position=command.position, free=free)


def _check_place(view: View, command: Place) -> None:
    if view.phase is not PLACING:
        raise IllegalCommand(Fault.TILES_NOT_LAID, "R3.3")
    hand = view.hands[command.seat]
    if command.piece not in hand:
        raise IllegalCommand(Fault.NOT_IN_HAND, "R4.1", piece=command.piece, hand=", ".join(_sorted(hand)))
    if command.piece.kind is not SOLDIER and _soldiers_due(view, command.seat):
        soldiers = ", ".join(sorted(piece for piece in hand if piece.kind is SOLDIER))
        raise IllegalCommand(Fault.SOLDIER_DUE, "R4.3", limit=view.start.soldierless_at, soldiers=soldiers)
    if command.field not in _FIELDS:
        raise IllegalCommand(Fault.NO_SUCH_FIELD, "R4.1", field=command.field)
    if command.field in view.placed:
        raise IllegalCommand(Fault.FIELD_TAKEN, "R4.1", field=command.field)


def _soldiers_due(view: View, seat: Seat) -> bool:
    """Return whether the seat must place a soldier now, to have none left at R4.3's limit."""
    hand, started, soldiers = view.hands[seat], view.started, 0
    assert started is not None  # and asked as it is: this is on the way of every move
    for people in started.peoples[seat]:
        soldiers += hand.get(_SOLDIER[people], 0)
    return soldiers > 0 and view.remaining[seat] - soldiers <= started.soldierless_at


def _lay_events(view: View, command: LayTile, chance: Chance) -> Iterator[Event]:
    drawn = view.drawn
    assert drawn is not None  # while tiles are laid, the seat to move holds one (R3.3)
    yield facts.TileLaid(command.seat, drawn, command.position, command.orientation)
    laid = {tile.tile for tile in view.tiles if tile is not None} | {drawn}
    bag = [tile for tile in TILES if tile not in laid]
    if bag:
        yield facts.TileDrawn(Seat((command.seat + 1) % view.seats), chance.tile(bag))
    else:
        yield _laurels_dealt(view.tiles[CENTRE], chance)


def _place_events(view: View, command: Place, layout: Layout, chance: Chance) -> Iterator[Event]:
    placed = Placed(command.seat, command.piece, command.field)
    yield placed
    if view.to_place > 1:
        return
    known = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
    known[command.field] = command.piece
    owners = {**view.owners, command.field: command.seat}
    yield facts.WolvesRevealed({field: piece for field, piece in known.items() if piece.wolf})
    for event in scored(Board(layout, known, owners), view.laurels, view.seats):
        yield replace(event, seed=chance.seed()) if isinstance(event, facts.GameEnded) else event
