"""The sentences about the game that people read, in one place; `names` are the players' names by seat."""

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Final, Self, assert_never

from client.language import N_, _, counted, listed
from client.past_games import PastGame, best_first
from client.table import TableModel
from engine.board import Field
from engine.components import LAUREL_WORTH
from engine.errors import DamagedRecord
from engine.events import (
    Captured,
    CentreTurned,
    DecidedBy,
    GameEnded,
    GameStarted,
    HillScored,
    Influence,
    LaurelsDealt,
    LayoutDrawn,
    LayTile,
    Place,
    Placed,
    SeenEvent,
    SoldierFled,
    Term,
    TileDrawn,
    TileLaid,
    Why,
    WolfPlaced,
    WolvesRevealed,
)
from engine.knowledge import Bounds
from engine.legal import LegalPlaces
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.view import Phase
from protocol.absence import Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.messages import SeatSummary, Stage, Standing, TableState

KINDS: Final = {Kind.MERCHANT: N_("merchant"), Kind.FARMER: N_("farmer"), Kind.SOLDIER: N_("soldier")}
_WOLVES: Final = {Kind.MERCHANT: N_("wolf merchant"), Kind.FARMER: N_("wolf farmer")}
_A_KIND: Final = {
    Kind.MERCHANT: N_("a merchant"),
    Kind.FARMER: N_("a farmer"),
    Kind.SOLDIER: N_("a soldier"),
}
_A_WOLF: Final = {
    Kind.MERCHANT: N_("a merchant with the wolf"),
    Kind.FARMER: N_("a farmer with the wolf"),
}
PEOPLES: Final = {
    People.ETRUSCANS: N_("Etruscans"),
    People.SABINES: N_("Sabines"),
    People.LATINS: N_("Latins"),
    People.MARSI: N_("Marsi"),
    People.ARCADIANS: N_("Arcadians"),
}
_PEOPLES_OF: Final = {
    People.ETRUSCANS: N_("Etruscan"),
    People.SABINES: N_("Sabine"),
    People.LATINS: N_("Latin"),
    People.MARSI: N_("Marsian"),
    People.ARCADIANS: N_("Arcadian"),
}
_OF_A_PEOPLE: Final = {
    Kind.MERCHANT: N_("{people} merchant"),
    Kind.FARMER: N_("{people} farmer"),
    Kind.SOLDIER: N_("{people} soldier"),
}
_STAGES: Final = {"gathering": N_("waiting for players"), "playing": N_("playing"), "over": N_("over")}
_WOLF_OF_A_PEOPLE: Final = {
    Kind.MERCHANT: N_("{people} merchant with the wolf"),
    Kind.FARMER: N_("{people} farmer with the wolf"),
}

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


def names_of(state: TableState | None, seats: int) -> tuple[str, ...]:
    """Return the players' names by seat."""
    named = [None] * seats if state is None else [summary.name for summary in state.seats]
    named += [None] * (seats - len(named))
    return tuple(name or _("Seat {number}").format(number=seat + 1) for seat, name in enumerate(named))


def names_at(model: TableModel) -> tuple[str, ...]:
    return names_of(model.state, 5)


def piece_words(piece: Piece | Wolf) -> str:
    """Return a piece in words: `Etruscan merchant with the wolf`."""
    if isinstance(piece, Wolf):
        form = _("{people} wolf, kind unknown")
    else:
        form = _((_WOLF_OF_A_PEOPLE if piece.wolf else _OF_A_PEOPLE)[piece.kind])
    return form.format(people=_(_PEOPLES_OF[piece.people]))


def bounds_text(bounds: Bounds) -> str:
    """Return a number as far as it is known: `3`, or `1-3`."""
    return str(bounds.least) if bounds.known else f"{bounds.least}-{bounds.most}"


def kind_words(piece: Piece) -> str:
    return _((_WOLVES if piece.wolf else KINDS)[piece.kind])


def describe_event(event: SeenEvent, names: Sequence[str]) -> str:
    """Return what happened, in one sentence."""
    match event:
        case GameStarted():
            who = listed(
                f"{names[seat]} ({listed(_(PEOPLES[people]) for people in peoples)})"
                for seat, peoples in enumerate(event.peoples)
            )
            return _("The game starts: {players}. {name} begins.").format(
                players=who, name=names[event.starting]
            )
        case CentreTurned():
            return _("Tile {tile} lies in the centre.").format(tile=event.tile)
        case TileDrawn():
            return _("{name} draws tile {tile}.").format(name=names[event.seat], tile=event.tile)
        case TileLaid():
            return _describe_laid(event, names)
        case LayoutDrawn():
            return _("The tiles were laid at random.")
        case LaurelsDealt():
            return _("Every hill has its laurel.")
        case Placed():
            return _("{name} places {piece} on {field}: {kind}.").format(
                name=names[event.seat],
                piece=event.piece,
                field=event.field,
                kind=kind_sentence(event.piece),
            )
        case WolfPlaced():
            return _("{name} places {piece} on {field}: a wolf, face down.").format(
                name=names[event.seat], piece=f"{event.people}?*", field=event.field
            )
        case WolvesRevealed():
            return _("All wolf pieces are turned up. The scoring begins.")
        case SoldierFled() | Captured():
            return describe_soldier(event, names)
        case HillScored():
            return describe_hill(event, names)
        case GameEnded():
            return describe_result(event, names)
        case _:
            assert_never(event)


def _describe_laid(event: TileLaid, names: Sequence[str]) -> str:
    form = (
        counted(
            "{name} lays tile {tile} at position {position}, turned once.",
            "{name} lays tile {tile} at position {position}, turned {turns} times.",
            event.orientation,
        )
        if event.orientation
        else _("{name} lays tile {tile} at position {position}, not turned.")
    )
    return form.format(
        name=names[event.seat], tile=event.tile, position=event.position, turns=event.orientation
    )


def kind_sentence(piece: Piece) -> str:
    return _((_A_WOLF if piece.wolf else _A_KIND)[piece.kind])


def describe_soldier(event: SoldierFled | Captured, names: Sequence[str]) -> str:
    """Return what a soldier found beside it and did (R5)."""
    merchants, farmers = len(event.merchants), len(event.farmers)
    found = _("{name}'s soldier on {field} has {merchants} and {farmers} beside it").format(
        name=names[event.seat],
        field=event.field,
        merchants=counted("{n} merchant", "{n} merchants", merchants).format(n=merchants),
        farmers=counted("{n} farmer", "{n} farmers", farmers).format(n=farmers),
    )
    if isinstance(event, SoldierFled):
        return _("{found}: it flees.").format(found=found)
    taken = (*event.taken, *event.shared)
    form = (
        counted(
            "{found}: it captures the merchant on {fields}.",
            "{found}: it captures the merchants on {fields}.",
            len(taken),
        )
        if merchants > farmers
        else counted(
            "{found}: it captures the farmer on {fields}.",
            "{found}: it captures the farmers on {fields}.",
            len(taken),
        )
    )
    captured = form.format(found=found, fields=listed(taken))
    if not event.shared:
        return captured
    discs = counted(
        "{captured} For the piece on {fields}, taken by another soldier, it gets a 1-point disc.",
        "{captured} For the pieces on {fields}, taken by other soldiers, it gets {n} 1-point discs.",
        len(event.shared),
    )
    return discs.format(captured=captured, fields=listed(event.shared), n=len(event.shared))


_TERMS: Final = {
    Why.MERCHANT: N_("{amount} for a merchant on {field}"),
    Why.FARMER: N_("{amount} for a farmer on {field}"),
    Why.SOLDIER: N_("{amount} for a soldier on {field}"),
    Why.EMPTY: N_("{amount} for an empty field on {field}"),
    Why.SPRING: N_("{amount} for a spring on {field}"),
    Why.OWN_SPRING: N_("{amount} for its own spring"),
}
_OWNERS: Final = {
    Kind.MERCHANT: N_("{name}'s merchant on {field}"),
    Kind.FARMER: N_("{name}'s farmer on {field}"),
    Kind.SOLDIER: N_("{name}'s soldier on {field}"),
}


def describe_influence(influence: Influence, names: Sequence[str]) -> str:
    """Return one piece's influence as a sentence (R6.2, R6.3)."""
    piece = _(_OWNERS[influence.kind]).format(name=names[influence.seat], field=influence.field)
    if not influence.terms:
        return _("{piece} has nothing useful beside it: no influence.").format(piece=piece)
    return _("{piece} gives {amount}: {terms}.").format(
        piece=piece, amount=influence.amount, terms=listed(map(describe_term, influence.terms))
    )


def describe_term(term: Term) -> str:
    return _(_TERMS[term.why]).format(amount=term.amount, field=term.field)


def sum_of(influence: Influence) -> str:
    """Return one piece's influence as arithmetic: `1+2+2 = 5`."""
    terms = "+".join(str(term.amount) for term in influence.terms)
    return f"{terms} = {influence.amount}" if len(influence.terms) > 1 else str(influence.amount)


def amounts(influence: Influence) -> dict[Field, int]:
    """Return what each field adds to a piece's influence."""
    added: dict[Field, int] = {}
    for term in influence.terms:
        added[term.field] = added.get(term.field, 0) + term.amount
    return added


def describe_hill(event: HillScored, names: Sequence[str]) -> str:
    """Return who controls a hill (R6.5)."""
    match event.leaders:
        case ():
            form = _("Hill {hill}: nobody has influence, so the {laurel} laurel ({worth}) is discarded.")
        case (_leader,):
            form = _("Hill {hill}: {leaders} leads with {most} and takes the {laurel} laurel ({worth}).")
        case _:
            form = _(
                "Hill {hill}: {leaders} tie with {most}; each takes a 2-point disc, and the {laurel} "
                "laurel ({worth}) is discarded."
            )
    return form.format(
        hill=event.hill,
        leaders=listed(names[seat] for seat in event.leaders),
        most=max(event.influence, default=0),
        laurel=event.laurel,
        worth=LAUREL_WORTH[event.laurel],
    )


def describe_result(event: GameEnded, names: Sequence[str]) -> str:
    """Return who won and what decided it (R7)."""
    tally = event.tallies[event.winners[0]]
    match event.decided_by:
        case DecidedBy.POINTS:
            form = counted("{winners} wins with {n} point.", "{winners} wins with {n} points.", tally.points)
        case DecidedBy.ITEMS if len(event.winners) == 1:
            form = counted(
                "{winners} wins the tie: {n} point each, but more captives, discs and laurels ({items}).",
                "{winners} wins the tie: {n} points each, but more captives, discs and laurels ({items}).",
                tally.points,
            )
        case DecidedBy.ITEMS:
            form = counted(
                "{winners} share the victory: {n} point each, and the most captives, discs and laurels.",
                "{winners} share the victory: {n} points each, and the most captives, discs and laurels.",
                tally.points,
            )
        case DecidedBy.NOTHING:
            form = counted(
                "{winners} share the victory with {n} point each: nothing separates them.",
                "{winners} share the victory with {n} points each: nothing separates them.",
                tally.points,
            )
        case _:
            assert_never(event.decided_by)
    return form.format(
        winners=listed(names[seat] for seat in event.winners), n=tally.points, items=tally.items
    )


def describe_changes(state: TableState, before: TableState | None) -> list[str]:
    """Return sentences on who came, went or is away, what the others do about it, and what the host did."""
    if before is None or len(before.seats) != len(state.seats):
        return []
    names = names_of(state, len(state.seats))
    if _same_people_elsewhere(state, before):
        sat = listed(
            f"{seat} {name}" for seat, name in enumerate(names, start=1) if state.seats[seat - 1].name
        )
        return [_("The seats have changed: {seats}.").format(seats=sat)]
    return [
        sentence
        for was, now in zip(before.seats, state.seats, strict=True)
        for sentence in (_came_or_went(was, now), *_held_or_voted(was, now, names))
        if sentence
    ] + list(_set_by_host(state, before, names))


def _same_people_elsewhere(state: TableState, before: TableState) -> bool:
    was, now = ([seat.name for seat in each.seats] for each in (before, state))
    return was != now and sorted(filter(None, was)) == sorted(filter(None, now))


def _set_by_host(state: TableState, before: TableState, names: Sequence[str]) -> Iterator[str]:
    if state.host != before.host and state.seats[state.host].name is not None:
        yield _("{name} is the host now.").format(name=names[state.host])
    if state.title != before.title:
        yield (
            _("The table is called {title} now.").format(title=state.title)
            if state.title
            else _("The table has no name any more.")
        )
    if state.private != before.private:
        yield _sentence(describe_private(private=state.private))
    if state.no_spectators != before.no_spectators:
        yield _sentence(describe_spectators(allowed=not state.no_spectators))
    if state.hints != before.hints:
        yield _sentence(describe_hints(allowed=state.hints))
    if state.quiet != before.quiet:
        yield _sentence(describe_quiet(quiet=state.quiet))
    if state.starting != before.starting and state.stage == "gathering":
        yield _("From now on: {policy}.").format(policy=describe_starting(state.starting, names))
    if state.absence != before.absence:
        yield _("From now on: {policy}.").format(policy=describe_policy(state.absence))
    yield from _paused(state, before, names)
    if state.ended and not before.ended:
        yield describe_ended()


def _paused(state: TableState, before: TableState, names: Sequence[str]) -> Iterator[str]:
    """Yield who paused the game or wants to, and that it goes on."""
    if state.pause_asked and state.pause_asked[:1] != before.pause_asked[:1]:
        yield describe_pause_asked(names[state.pause_asked[0]])
    if state.paused is not None and before.paused is None:
        yield _("{name} has paused the game.").format(name=names[state.paused.seat])
    if state.paused is None and before.paused is not None and not state.ended:
        yield _("The game goes on.")


def describe_pause_asked(name: str) -> str:
    return _("{name} asks for a pause.").format(name=name)


def _sentence(words: str) -> str:
    """Return words that stand alone elsewhere as a sentence."""
    return f"{words[0].upper()}{words[1:]}."


def describe_ended() -> str:
    return _("The host has ended the game: nobody wins.")


def describe_private(*, private: bool) -> str:
    if private:
        return _("the table is private: it is found by its code alone")
    return _("the table is in the list")


def describe_spectators(*, allowed: bool) -> str:
    return _("spectators may watch") if allowed else _("the table is closed to spectators")


def describe_hints(*, allowed: bool) -> str:
    return _("players may have moves suggested (s)") if allowed else _("there are no hints")


def describe_quiet(*, quiet: bool) -> str:
    if quiet:
        return _("players do not hear spectators while a game runs")
    return _("players hear what spectators say")


def describe_mute(name: str | None, *, on: bool) -> str:
    """Return what it means for the player that somebody was muted, or all spectators for None."""
    if name is None:
        return _("You do not hear spectators any more.") if on else _("You hear spectators again.")
    form = _("You do not hear {name} any more.") if on else _("You hear {name} again.")
    return form.format(name=name)


def describe_starting(seat: int | None, names: Sequence[str]) -> str:
    if seat is None:
        return _("a draw decides who starts")
    return _("{name} starts").format(name=names[seat])


def spectator_name(number: int | None, name: str | None) -> str:
    """Return what a spectator is called, by the number or name that the server told."""
    if name is not None:
        return name
    return _("A spectator") if number is None else _("spectator {number}").format(number=number)


def watching_name(called: str, name: str | None) -> str:
    """Return what a spectator is called among players: without a name, it says so by itself."""
    return called if name is None else _("{name} (spectator)").format(name=called)


def _came_or_went(was: SeatSummary, now: SeatSummary) -> str:
    if now.vacant and not was.vacant:
        return _("{name} was removed: somebody else may take the seat over.").format(name=now.name)
    replaced = was.level is not None and was.name != now.name
    if (replaced or (was.vacant and not now.vacant)) and now.name is not None:
        return _("{name} takes over the seat of {gone}.").format(name=now.name, gone=was.name)
    if was.name != now.name:
        if now.name is None and was.kept:
            return _("{name} did not come, so the seat is free.").format(name=was.name)
        form = _("{name} takes a seat.") if now.name else _("{name} leaves the table.")
        return form.format(name=now.name or was.name)
    if now.name is None:
        return ""
    if now.again and not was.again:
        return _("{name} wants to play again.").format(name=now.name)
    if was.kept and not now.kept:
        return _("{name} plays again.").format(name=now.name)
    if was.here != now.here and not now.again:
        return describe_presence(now.name, here=now.here)
    return ""


class PresenceLine(str):
    """A sentence that says whether `player` is here: a newer one replaces it."""

    __slots__ = ("player",)
    player: str

    def __new__(cls, sentence: str, player: str) -> Self:
        line = super().__new__(cls, sentence)
        line.player = player
        return line


def describe_presence(name: str, *, here: bool) -> PresenceLine:
    form = _("{name} is back.") if here else _("{name} is away.")
    return PresenceLine(form.format(name=name), name)


def _held_or_voted(was: SeatSummary, now: SeatSummary, names: Sequence[str]) -> Iterator[str]:
    if now.bot and not was.bot:
        yield _("A bot plays for {name} from now on.").format(name=now.name)
    for seat in now.votes:
        if seat not in was.votes and not now.bot:
            yield _("{voter} wants a bot to play for {name}.").format(voter=names[seat], name=now.name)


def turned(turns: int) -> str:
    """Return how a tile lies."""
    if not turns:
        return _("not turned")
    return counted("turned once", "turned {turns} times", turns).format(turns=turns)


def confirmation(move: LayTile | Place) -> str:
    """Return the question whether to really make the move."""
    if isinstance(move, Place):
        form = _("Place {piece} on {field}? Enter: yes, Esc: no")
        return form.format(piece=move.piece, field=move.field)
    form = _("Lay the tile at position {position}, {turned}? Enter: yes, Esc: no")
    return form.format(position=move.position, turned=turned(move.orientation))


def describe_stand_in(name: str) -> str:
    return _("{name}'s time is up: a bot makes the move.").format(name=name)


def describe_rematch(state: TableState, seat: Seat | None) -> str:
    """Return which players of a finished game play again, and how to join them; empty if none does."""
    names = [summary.name for summary in state.seats if summary.again and summary.name]
    if not names:
        return ""
    form = counted("{names} plays again.", "{names} play again.", len(names))
    how = _("Press m to watch.") if seat is None else _("Press m to play too.")
    return f"{form.format(names=listed(names))} {how}"


def describe_standings(state: TableState) -> str:
    """Return what the players have reached in several games, the best first; empty after a single one."""
    if all(seat.standing.games < 2 for seat in state.seats):
        return ""
    return list_standings(
        best_first((seat.name, seat.standing) for seat in state.seats if seat.name is not None)
    )


def list_standings(standings: Iterable[tuple[str, Standing]]) -> str:
    """Return the players' standings in one sentence."""
    form = _("{name}: {wins} of {games} won, {points} points")
    each_player = (
        form.format(name=name, wins=each.wins, games=each.games, points=each.points)
        for name, each in standings
    )
    return _("All games so far: {totals}.").format(totals="; ".join(each_player))


def describe_points(game: PastGame, names: Sequence[str] | None = None) -> str:
    """Return everybody's points, with a star for the winners; `names` are others than the record's."""
    if not game.points:
        return _("(this record cannot be read)")
    return ", ".join(
        f"{name} {points}{'*' if seat in game.winners else ''}"
        for seat, (name, points) in enumerate(zip(names or game.names, game.points, strict=True))
    )


def local_time(seconds: float) -> str:
    """Return a time in seconds since 1970 as the local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def saved_as(path: Path) -> str:
    return _("Saved as {file} in {folder}.").format(file=path.name, folder=path.parent)


def not_saved(path: Path, error: OSError) -> str:
    return _("Cannot write {file}: {reason}.").format(file=path, reason=error.strerror or error)


def bad_record(error: DamagedRecord) -> str:
    reason = _(error.text).format(**error.about)
    return _("The server sent a record that cannot be read: {reason}.").format(reason=reason)


def announcement(text: str) -> str:
    """Return an announcement as the log has it: what is before the colon is longer than any name."""
    return _("Announcement by the host of the server: {text}").format(text=text)


def server_stops(seconds: int) -> str:
    return _("The server stops in {time}, and opens no more tables.").format(time=clock_time(seconds))


def clock_time(seconds: float) -> str:
    """Return a remaining time as a clock shows it."""
    minutes, left = divmod(max(ceil(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def describe_turn(model: TableModel, names: Sequence[str]) -> str:
    """Return what the table is waiting for, before the scoring."""
    view = model.view
    if model.table is None:
        return _("the lobby")
    if view is None:
        return describe_stage("gathering")
    if view.turn is None:
        return _("one moment")
    mine = view.turn == model.seat
    if view.phase is Phase.LAYING:
        form = _("Your turn: lay tile {tile}") if mine else _("{name}'s turn to lay tile {tile}")
        return form.format(name=names[view.turn], tile=view.drawn)
    if not mine:
        return _("{name}'s turn to place").format(name=names[view.turn])
    due = isinstance(model.legal, LegalPlaces) and all(
        piece.kind is Kind.SOLDIER for piece in model.legal.pieces
    )
    return _("Your turn: place a soldier") if due else _("Your turn: place a piece")


def describe_stage(stage: Stage) -> str:
    return _(_STAGES[stage])


def your_seat() -> str:
    return _("your seat")


def back_in_seat(name: str) -> str:
    return _("You are back in your seat, as {name}.").format(name=name)


def seat_lost(table: str) -> str:
    return _("Your seat at table {table} is no longer kept for you.").format(table=table)


def seat_not_kept(error: OSError) -> str:
    return _("Your seat cannot be saved for later ({error}): stay until the game is over.").format(
        error=error.strerror
    )


def seats_not_read(error: OSError) -> str:
    return _("The seats saved on this computer cannot be read ({error}).").format(error=error.strerror)


def seat_damaged(path: Path) -> str:
    return _("A seat saved on this computer cannot be read and is ignored: {path}").format(path=path)


def how_to_continue() -> str:
    """Return what to say on leaving a game against bots."""
    told_first = _("The game is kept. Continue it on the start screen, or with")
    return f"{told_first}\n  palatinus play --continue"


def game_not_kept(reason: str) -> str:
    return _("This game cannot be kept for later ({reason}).").format(reason=reason)


def game_not_continued(folder: Path, reason: str) -> str:
    return _("The game in {folder} cannot be continued ({reason}). It is left as it is.").format(
        folder=folder, reason=reason
    )


def games_damaged(folders: Sequence[Path]) -> str:
    return _("A kept game cannot be read and is left as it is: {folders}").format(
        folders=listed(map(str, folders))
    )


def how_to_come_back(address: str, table: str, name: str | None) -> str:
    """Return what to say on leaving a running game; `name` if it is needed to find the seat again."""
    named = "" if name is None else f" --name {shlex.quote(name)}"
    told_first = _("The game goes on, and your seat is kept. Come back with")
    return f"{told_first}\n  palatinus join {address} {table}{named}"


def describe_policy(policy: Absence) -> str:
    """Return what happens at a table when a player is away or slow."""
    match policy:
        case Wait():
            return _("the game waits for anyone who is away")
        case MoveClock(seconds):
            return _("{time} per move, then a bot makes it").format(time=span(seconds))
        case GameClock(seconds):
            return _("{time} per player for the whole game, then a bot plays").format(time=span(seconds))
        case ByVote(0):
            return _("a player who is away may be replaced by a bot at once, by vote")
        case ByVote(seconds):
            return _("after {time} away, a player may be replaced by a bot, by vote").format(
                time=span(seconds)
            )
        case ByBot(0):
            return _("a bot plays at once for anyone who is away")
        case ByBot(seconds):
            return _("after {time} away, a bot plays for that player").format(time=span(seconds))


def span(seconds: int) -> str:
    """Return a length of time as a whole number of the largest unit possible."""
    if seconds and seconds % _HOUR == 0:
        return _("{n} h").format(n=seconds // _HOUR)
    if seconds and seconds % _MINUTE == 0:
        return _("{n} min").format(n=seconds // _MINUTE)
    return _("{n} s").format(n=seconds)
