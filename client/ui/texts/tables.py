"""Who is at a table, how it is set up, and its changes in the words of the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple, Self, assert_never

from client.language import N_, _, counted, listed
from client.tables.table import TableModel, open_request
from client.ui.texts.names import in_sentences, marked
from client.ui.texts.pieces import piece_sign
from client.ui.texts.times import clock_time, local_day_and_time, span
from engine.pieces import Seat
from engine.view import View
from protocol.absence import Absence, ByBot, ByVote, GameClock, LongClock, MoveClock, Wait
from protocol.limits import LARGEST_ID
from protocol.messages import (
    Announced,
    Asked,
    CameBy,
    News,
    NoticeKind,
    Notices,
    PauseSummary,
    PersonOnline,
    SeatSummary,
    Stage,
    Stopping,
    Studied,
    TableState,
    TableSummary,
)
from protocol.settings import AnySwitch, Hints, Private, Quiet, Spectators, Switches, unusual


def names_of(state: TableState | None, seats: int) -> tuple[str, ...]:
    named = [None] * seats if state is None else [summary.name for summary in state.seats]
    named += [None] * (seats - len(named))
    return tuple(name or _("Seat {number}").format(number=seat + 1) for seat, name in enumerate(named))


def names_at(model: TableModel) -> tuple[str, ...]:
    """Return the names of the seats for sentences."""
    return in_sentences(players_at(model))


def players_at(model: TableModel) -> tuple[str, ...]:
    """Return the names of the seats, with the player's own marked at a table."""
    own = None if model.recorded else model.seat
    return marked(names_of(model.state, 5), own)


def describe_mute(name: str | None, *, on: bool) -> str:
    """Return the effect of muting a player, or all spectators for None, in words."""
    if name is None:
        return _("You no longer hear spectators.") if on else _("You hear spectators again.")
    form = _("You no longer hear {name}.") if on else _("You hear {name} again.")
    return form.format(name=name)


def describe_person(person: PersonOnline) -> str:
    form = _("{name} (playing at {table})") if person.table else _("{name} (playing)")
    if person.at == "watching" and person.table:
        form = _("{name} (watching {table})")
    return person.name if person.at == "lobby" else form.format(name=person.name, table=person.table)


_GUESTS_NAMED: Final = 8
_CAME_BY: Final[Mapping[CameBy, str]] = {
    "terminal": N_("{name} (terminal)"),
    "text": N_("{name} (text mode)"),
    "ssh": N_("{name} (ssh)"),
    "browser": N_("{name} (browser)"),
}


def describe_guest(person: PersonOnline) -> str:
    """Return the name of a person in the lobby, with the kind of client that they use."""
    return person.name if person.by is None else _(_CAME_BY[person.by]).format(name=person.name)


def describe_guests(people: Sequence[PersonOnline]) -> str:
    """Return the people in the lobby in few words; empty without any."""
    if not people:
        return ""
    names = [describe_guest(each) for each in people[:_GUESTS_NAMED]]
    if more := len(people) - len(names):
        names.append(describe_more(more))
    return _("in the lobby: {names}").format(names=listed(names))


def describe_online(people: Sequence[PersonOnline], more: int) -> str:
    names = [describe_person(each) for each in people]
    if more:
        names.append(describe_more(more))
    return _("Online: {names}.").format(names=listed(names))


def describe_more(people: int) -> str:
    return counted("{n} more", "{n} more", people).format(n=people)


def spectator_name(number: int | None, name: str | None) -> str:
    if name is not None:
        return name
    return _("A spectator") if number is None else _("spectator {number}").format(number=number)


def spectator_number(text: str) -> int | None:
    """Return the number that a spectator without a name is called by, None if the text is no such name."""
    before, after = _("spectator {number}").casefold().split("{number}")
    number = text.casefold().removeprefix(before).removesuffix(after)
    fits = number.isascii() and number.isdecimal() and text.casefold() == f"{before}{number}{after}"
    return int(number) if fits and len(number) <= len(str(LARGEST_ID)) else None


def watching_name(called: str, name: str | None) -> str:
    """Return a spectator's name among players; without one, the text says that it is a spectator."""
    return called if name is None else _("{name} (spectator)").format(name=called)


_STAGES: Final = {"gathering": N_("waiting for players"), "playing": N_("playing"), "over": N_("over")}


class Row(NamedTuple):
    """A setting that is on or off, as people see it.

    Its name is its command. Its `key` changes it for a table to be opened; without one that is left to the
    table's menu.
    """

    kind: type[AnySwitch]
    key: str
    help: str
    on: str
    off: str

    @property
    def name(self) -> str:
        return str(self.kind.__struct_config__.tag)

    def is_on(self, switches: Switches) -> bool:
        return bool(getattr(switches, self.name))

    def describe(self, *, on: bool) -> str:
        return _(self.on if on else self.off)


# Menu, lobby, gathering, commands, log, help and pages have what is here, in this order.
ROWS: Final = (
    Row(
        Private,
        "l",
        N_("found only by its code, or listed"),
        N_("the table is private: it can be found only by its code"),
        N_("the table is in the list"),
    ),
    Row(
        Spectators,
        "",
        N_("whether the table may be watched"),
        N_("spectators may watch"),
        N_("the table is closed to spectators"),
    ),
    Row(
        Hints,
        "h",
        N_("whether players may have moves suggested"),
        N_("players may have moves suggested"),
        N_("there are no hints"),
    ),
    Row(
        Quiet,
        "",
        N_("whether players hear spectators while a game runs"),
        N_("players do not hear spectators while a game runs"),
        N_("players hear what spectators say"),
    ),
)


WHEN_OPENED: Final = tuple(row for row in ROWS if row.key)


def describe_unusual(switches: Switches) -> list[str]:
    """Return the settings of a table that are not as usual."""
    rows = {row.kind: row for row in ROWS}
    return [rows[type(each)].describe(on=each.on) for each in unusual(switches)]


def describe_layout(*, at_random: bool) -> str:
    return _("the tiles are laid at random") if at_random else _("the players lay the tiles")


def describe_starting(seat: int | None, names: Sequence[str]) -> str:
    if seat is None:
        return _("a draw decides who starts")
    return _("{name} starts").format(name=names[seat])


def describe_stage(stage: Stage, *, full: bool = False) -> str:
    """Return a table's stage in words; `full` if no seat is free."""
    return _("waiting to start") if full and stage == "gathering" else _(_STAGES[stage])


def table_name(table: str, state: TableState | None) -> str:
    """Return the table's code, marked if it is a study."""
    return f"{table} ({_('a study')})" if state is not None and state.study else table


def describe_listed_stage(table: TableSummary) -> str:
    """Return the stage of a table in a list, in words."""
    if table.study and table.stage == "playing":
        return _("a study")
    if table.deserted and table.stage == "playing":
        return _("playing, all away")
    return describe_stage(table.stage, full=table.taken == table.players)


def describe_seats(table: TableSummary) -> str:
    return _("{taken} of {seats}").format(taken=table.taken, seats=table.players)


NOTICES_GO_TO: Final[Mapping[NoticeKind, str]] = {"mail": N_("an e-mail address"), "url": N_("a URL")}


def describe_notices(notices: Notices) -> str:
    """Return a sentence on the address where the player gets notifications."""
    match notices.state:
        case "unconfirmed":
            text = _("A code is on its way to your address. Type it like this: {example}")
            return text.format(example="notify 123456")
        case "unreachable":
            return _("The code could not be delivered to your address. Check it, and type it again.")
        case "confirmed" if notices.kind == "mail":
            return _("You get e-mail when it is your turn and you are away.")
        case "confirmed":
            return _("Your URL gets a notification when it is your turn and you are away.")
        case _:
            return _("You get no notifications while you are away.")


def describe_policy(policy: Absence) -> str:
    match policy:
        case Wait():
            return _("the game waits for anyone who is away")
        case LongClock(seconds, reserve) if reserve:
            form = _("{time} per move and {reserve} in reserve, then a bot makes it")
            return form.format(time=span(seconds), reserve=span(reserve))
        case MoveClock(seconds):
            return _("{time} per move, then a bot makes it").format(time=span(seconds))
        case GameClock(seconds):
            return _("{time} per player for the whole game, then a bot plays").format(time=span(seconds))
        case ByVote(0):
            return _("a player who is away may be replaced by a bot at once, by vote")
        case ByVote(seconds):
            text = _("after {time} away, a player may be replaced by a bot, by vote")
            return text.format(time=span(seconds))
        case ByBot(0):
            return _("a bot plays at once for anyone who is away")
        case ByBot(seconds):
            return _("after {time} away, a bot plays for that player").format(time=span(seconds))


def describe_holidays(days: int) -> str:
    return counted("{n} day", "{n} days", days).format(n=days)


def describe_absence(table: TableState | TableSummary) -> str:
    """Return the table's absence policy, and the days of holiday."""
    policy = describe_policy(table.policy)
    if not table.holidays:
        return policy
    return _("{policy}; holiday: {days}").format(policy=policy, days=describe_holidays(table.holidays))


def describe_changes(state: TableState, before: TableState | None, view: View | None = None) -> list[str]:
    """Return sentences on people's coming and going, votes and requests, and the host's acts."""
    if before is None or before.table != state.table:
        return []
    names = names_of(state, 5)
    was, now = ([seat.name for seat in each.seats] for each in (before, state))
    if was != now and sorted(filter(None, was)) == sorted(filter(None, now)):
        sat = listed(f"{seat} {name}" for seat, name in enumerate(now, start=1) if name)
        return [_("The seats have changed: {seats}.").format(seats=sat)]
    told: list[str] = []
    for seat, seat_now in zip_longest(before.seats, state.seats, fillvalue=SeatSummary()):
        told += filter(None, (_came_or_went(seat, seat_now), *_held_or_voted(seat, seat_now, names)))
    were_here = {each.name for each in before.watching}
    watch = (each.name for each in state.watching if each.name is not None and each.name not in were_here)
    told += (PresenceLine(_("{name} watches.").format(name=name), name) for name in watch)
    return [*told, *_set_by_host(state, before, names, view)]


def describe_lead(leader: str, *, leads: bool, follows: bool) -> str:
    """Return in a few words who leads through the finished game, and whether this player does, or follows."""
    if leads:
        return _("you lead")
    return (_("you follow {name}") if follows else _("{name} leads")).format(name=leader)


def describe_lead_changes(state: TableState, before: TableState | None) -> list[str]:
    """Return sentences on who begins to lead through the finished game or to study it, or leads no more."""
    was, now = "" if before is None else who_leads(before), who_leads(state)
    told = []
    if (studied := state.studied) is not None and (before is None or studied != before.studied):
        form = _("{name} opened a study of move {step} at table {table}. B: join")
        told.append(describe_study(studied, state, form))
    if now and now != was:
        told.append(_("{name} is leading the review. f: follow").format(name=now))
    elif was and not now:
        told.append(_("{name} has stopped leading.").format(name=was))
    return told


def describe_study(studied: Studied, state: TableState, form: str) -> str:
    name = names_of(state, len(state.seats))[studied.seat]
    return form.format(name=name, step=studied.step, table=studied.table)


def who_leads(state: TableState) -> str:
    """Return the name of the player who leads through the finished game; empty without one."""
    if (shown := state.shown) is None:
        return ""
    if shown.seat is not None:
        return names_of(state, len(state.seats))[shown.seat]
    name = next((each.name for each in state.watching if each.number == shown.spectator), None)
    return spectator_name(shown.spectator, name)


def _set_by_host(
    state: TableState, before: TableState, names: Sequence[str], view: View | None
) -> Iterator[str]:
    if state.host != before.host and state.seats[state.host].name is not None:
        yield _("{name} is the host now.").format(name=names[state.host])
    if state.title != before.title:
        form = _("The table is called {title} now.") if state.title else _("The table no longer has a name.")
        yield form.format(title=state.title)
    for row in ROWS:
        if (on := row.is_on(state.switches)) != row.is_on(before.switches):
            yield _("From now on: {policy}.").format(policy=row.describe(on=on))
    if state.starting != before.starting and state.stage == "gathering":
        yield _("From now on: {policy}.").format(policy=describe_starting(state.starting, names))
    if state.policy != before.policy:
        clocks = any(isinstance(each, MoveClock | GameClock) for each in (state.policy, before.policy))
        next_round = clocks and state.stage == "playing"
        form = _("From the next round on: {policy}.") if next_round else _("From now on: {policy}.")
        yield form.format(policy=describe_policy(state.policy))
    if state.holidays != before.holidays and state.policy == before.policy:
        days = describe_holidays(state.holidays)
        policy = _("holiday of each player: {days}").format(days=days)
        yield _("From now on: {policy}.").format(policy=policy)
    if state.turn_limit is not None and state.turn_limit != before.turn_limit:
        yield _("Until then, a turn takes {time} at most.").format(time=clock_time(state.turn_limit))
    yield from _asked_or_paused(state, before, names, view)
    if state.ended and not before.ended:
        yield describe_ended()


def _asked_or_paused(
    state: TableState, before: TableState, names: Sequence[str], view: View | None
) -> Iterator[str]:
    opened, was = open_request(state), open_request(before)
    if opened is not None and (was is None or (opened.what, opened.seats[0]) != (was.what, was.seats[0])):
        yield describe_asked(opened, names, view)
    if (asked := state.asked) is not None and asked != before.asked:  # an event tells of a move taken back
        if asked.granted:
            yield _("{name} has more time.").format(name=names[asked.seats[0]])
        elif asked.refused is not None:
            form = (
                _("{name} has withdrawn the request.")
                if asked.refused == asked.seats[0]
                else _("{name} says no.")
            )
            yield form.format(name=names[asked.refused])
    if opened is not None and was is not None and opened.seats[0] == was.seats[0]:
        agreed = (seat for seat in opened.seats if seat not in was.seats)
        yield from (_("{name} says yes.").format(name=names[seat]) for seat in agreed)
    if state.paused is not None and before.paused is None:
        yield describe_pause(state.paused, names)
    if state.paused is None and before.paused is not None and not state.ended:
        yield _("The game continues.")


def describe_pause(
    pause: PauseSummary, names: Sequence[str], moment: Callable[[float], str] = local_day_and_time
) -> str:
    name = names[pause.seat]
    if pause.until is None:
        return _("{name} has paused the game.").format(name=name)
    form = _("The game is paused until {moment}: {name} has asked for it.")
    return form.format(name=name, moment=moment(pause.until))


def describe_answers(asked: Asked, still_asked: Sequence[int], names: Sequence[str]) -> str:
    """Return the players who agree to a request, and those who have not answered."""
    parts = (_("Agreed so far: {names}."), asked.seats[1:]), (_("Still asked: {names}."), still_asked)
    return " ".join(
        form.format(names=listed(names[seat] for seat in seats)) for form, seats in parts if seats
    )


def describe_asked(
    asked: Asked,
    names: Sequence[str],
    view: View | None = None,
    moment: Callable[[float], str] = local_day_and_time,
) -> str:
    """Return an open request in words, with the pieces that would go back if `view` is known."""
    name = names[asked.seats[0]]
    match asked.what:
        case "pause" if asked.until is not None:
            form = _("{name} asks for a pause until {moment}: everybody must agree.")
            return form.format(name=name, moment=moment(asked.until))
        case "pause":
            return _("{name} asks for a pause: the host can agree, or everybody.").format(name=name)
        case "more-time":
            return _("{name} asks for more time: everybody must agree.").format(name=name)
        case _:
            pieces = _("a move") if view is None else _pieces_back(view, Seat(asked.seats[0]))
            form = _("{name} asks to take back {pieces}.")
            return form.format(name=name, pieces=pieces)


def _pieces_back(view: View, seat: Seat) -> str:
    """Return the seat's last piece, and how many placed since would go back with it."""
    if not (fields := view.since(seat)):
        return _("a move")
    *since, own = fields
    told = _("{piece} on {field}").format(piece=piece_sign(view.placed[own]), field=own)
    if not since:
        return told
    form = counted("{piece} and the {n} piece since", "{piece} and the {n} pieces since", len(since))
    return form.format(piece=told, n=len(since))


def describe_ended() -> str:
    return _("The host has ended the game: nobody wins.")


def _came_or_went(was: SeatSummary, now: SeatSummary) -> str:
    if now.vacant and not was.vacant:
        return _("{name} was removed: somebody else may take the seat over.").format(name=now.name)
    replaced = was.level is not None and was.name != now.name
    if (replaced or (was.vacant and not now.vacant)) and now.name not in {None, was.name}:
        return _("{name} takes over the seat of {gone}.").format(name=now.name, gone=was.name)
    if was.name != now.name:
        if now.name is None and was.kept:
            return _("{name} did not come, so the seat is free.").format(name=was.name)
        if now.name is None and now.removed:
            return _("{name} was removed from the table.").format(name=was.name)
        form = _("{name} takes a seat.") if now.name else _("{name} leaves the table.")
        return form.format(name=now.name or was.name)
    if now.name is None:
        return ""
    if now.again and not was.again:
        return _("{name} wants to play again.").format(name=now.name)
    if was.kept and not now.kept:  # in the next game, or in the round of an evening
        return _("{name} takes a seat.").format(name=now.name)
    begins = now.removable_in is not None and was.removable_in is None  # as when the game has just begun
    if (was.here != now.here or begins) and not now.again:
        return describe_presence(now.name, here=now.here, removable_in=now.removable_in)
    return ""


def describe_too_late(key: str, *, begun: bool) -> str:
    """Return why a player who came too late watches, and when they can play."""
    if begun:
        form = _("The game has begun, so you watch it. When these players play again, {key} takes you along.")
    else:
        form = _("All seats are taken, so you watch. As soon as one is free, {key} takes it.")
    other = _("To play now, type open: that opens another table.")
    return f"{form.format(key=key)} {other}"


def describe_spectators(state: TableState) -> str:
    """Return the spectators in few words: names, and the number of the others; empty without any."""
    if not state.spectators:
        return ""
    names = [each.name for each in state.watching if each.name is not None]
    if not names:
        return counted("{n} spectator", "{n} spectators", state.spectators).format(n=state.spectators)
    if more := state.spectators - len(names):
        names.append(describe_more(more))
    return _("spectators: {names}").format(names=listed(names))


class PresenceLine(str):
    """A sentence that says whether `player` is here: a newer one replaces it."""

    __slots__ = ("player",)
    player: str

    def __new__(cls, sentence: str, player: str) -> Self:
        line = super().__new__(cls, sentence)
        line.player = player
        return line


def describe_presence(name: str, *, here: bool, removable_in: int | None = None) -> PresenceLine:
    if removable_in:
        form = _("{name} is away. In {time}, the host may give the seat to a bot or to somebody else.")
        return PresenceLine(form.format(name=name, time=clock_time(removable_in)), name)
    form = _("{name} is back.") if here else _("{name} is away.")
    return PresenceLine(form.format(name=name), name)


def _held_or_voted(was: SeatSummary, now: SeatSummary, names: Sequence[str]) -> Iterator[str]:
    if now.holiday_until is not None and was.holiday_until is None:
        form = _("{name} is on holiday, until {moment} at the latest.")
        yield form.format(name=now.name, moment=local_day_and_time(now.holiday_until))
    elif now.holiday_until is None and was.holiday_until is not None:
        yield _("{name} is no longer on holiday.").format(name=now.name)
    if now.bot and not was.bot:
        yield _("A bot plays for {name} from now on.").format(name=now.name)
    for seat in now.votes:
        if seat not in was.votes and not now.bot:
            yield _("{voter} wants a bot to play for {name}.").format(voter=names[seat], name=now.name)


def by_stand_in(sentence: str) -> str:
    """Return a player's move in the words of the log, if a bot made it."""
    return _("{move} (A bot moved.)").format(move=sentence)


def while_away(sentence: str) -> str:
    """Return a line of the log as it is marked if the player was away then."""
    return _("Missed: {news}").format(news=sentence)


def describe_news(news: News) -> str:
    """Return what the server tells; no name is as long as what is before an announcement's colon."""
    match news:
        case Announced(text):
            return _("Announcement by the host of the server: {text}").format(text=text)
        case Stopping(seconds):
            if seconds is None:
                return _("The server will not stop after all.")
            told = _("The server is stopping in {time}, and will not open any more tables.")
            return told.format(time=clock_time(seconds))
        case _:
            assert_never(news)
