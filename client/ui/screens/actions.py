"""Everything that a player can ask for at a server: `ACTIONS`, which every way to ask for it reads.

These are the typed line with its completions, the help, the table's menu, the keys, text mode and the
buttons of a browser's page.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, get_args

from msgspec import structs

from client.language import N_, _
from client.levels import describe_level, describe_temper, usual_level
from client.player.preferences import Explanations
from client.tables.table import TableModel, open_request
from client.typed_text import (
    BadText,
    Misplaced,
    fault_of,
    policy_named,
    seat_to_start,
    seats_meant,
    table_code,
)
from client.ui import requests
from client.ui.at_table import holiday_request, next_vote, request_for, request_to_answer
from client.ui.draw.page import is_paused
from client.ui.keys import Act, Handler, Key
from client.ui.requests import Request
from client.ui.screens.action import (
    ANYWHERE,
    GATHERING,
    LOBBY,
    OVER,
    PLAYING,
    UNFINISHED,
    Action,
    May,
    Meaning,
    Read,
    Stage,
    Who,
    anything,
    asking,
    asking_if,
    either,
    exactly,
    nothing,
    of_seat,
    page_of_seats,
    pressing,
    stage_of,
    switching,
)
from client.ui.screens.arguments import (
    ON_OR_OFF,
    choosers,
    free_seats,
    heirs,
    known_seat,
    laying,
    placement,
    refuse_name,
    removable,
    seat_and_name,
    seat_named,
    speakers,
    spectator_named,
    substitutable,
    swapped,
    typed_players,
    typed_spectators,
)
from client.ui.screens.menu import At, Menu, MenuLine, Page
from client.ui.screens.planning import line_of_plans, open_plans, read_plan
from client.ui.state import LinePrompt, Mute, Outcome, TypedLine, Ui, hints_allowed
from client.ui.texts import tables
from client.ui.texts.pieces import PEOPLES, people_named
from client.ui.texts.signs import SIGNS
from client.ui.texts.times import moment_named
from engine.components import DEALS
from engine.pieces import People
from protocol import messages
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, LongClock, MoveClock, letter_seconds
from protocol.codes import Code
from protocol.limits import ADDRESS_LENGTH, HOLIDAYS, LEVEL_LENGTH, NOTICE_CODE_LENGTH, TITLE_LENGTH
from protocol.messages import NEW, ChangeSetting
from protocol.settings import AbsenceSetting, Holidays, Starting, Title


def keys_at(stage: Stage) -> tuple[Key, ...]:
    """Return the keys of all that is possible at this stage alone."""
    return tuple(key for action in ACTIONS if action.stages == (stage,) for key in action.keys_offered())


# The settings of the table


def _of_row(row: tables.Row) -> Action:
    def read(text: str, _at: At) -> Request | None:
        return ChangeSetting(NEW, row.kind(on=ON_OR_OFF[text])) if text in ON_OR_OFF else None

    def line(at: At) -> Iterator[MenuLine]:
        on = row.is_on(at.state.switches)
        yield MenuLine(row.describe(on=on), ChangeSetting(NEW, row.kind(on=not on)))

    return Action(
        f"{row.name} on, off",
        row.help,
        read,
        texts=either(*ON_OR_OFF),
        who=Who.HOST,
        shown=True,
        menu=line,
    )


def _title(text: str, _at: At) -> Request | None:
    return ChangeSetting(NEW, Title(text)) if len(text) <= TITLE_LENGTH else None


def _line_of_title(at: At) -> Iterator[MenuLine]:
    title = at.state.title
    named = _("name of the table: {title}").format(title=title or _("(no name)"))
    yield MenuLine(named, TypedLine(LinePrompt.TITLE).filled(title))


POLICIES: Final[tuple[Absence, ...]] = (
    WAIT,
    ByBot(60),
    ByBot(0),
    ByVote(60),
    MoveClock(60),
    MoveClock(300),
    GameClock(1800),
    MoveClock(86_400),
    LongClock(3 * 86_400, 3 * 86_400),
)


def _policies(_at: At) -> Iterator[MenuLine]:
    for policy in POLICIES:
        yield MenuLine(tables.describe_policy(policy), ChangeSetting(NEW, AbsenceSetting(policy)))


ABSENCE: Final = Page(N_("What happens when a player is away or slow"), _policies)


def _absence(text: str, _at: At) -> Request | None:
    return ChangeSetting(NEW, AbsenceSetting(policy_named(text))) if len(text.split()) == 1 else None


def _holidays(text: str, _at: At) -> Request | None:
    fits = re.fullmatch(r"\d{1,2}", text, re.ASCII) and int(text) <= HOLIDAYS
    return ChangeSetting(NEW, Holidays(int(text))) if fits else None


def _line_of_holidays(at: At) -> Iterator[MenuLine]:
    words = _("holiday of each player: {days}").format(days=tables.describe_holidays(at.state.holidays))
    yield MenuLine(words, TypedLine().filled("holidays "))


_DRAW: Final = "random"


def _starts(text: str, at: At) -> Request | None:
    if text.casefold() == _DRAW:
        return ChangeSetting(NEW, Starting(None))
    seat = known_seat(text, at.state)
    return None if seat is None else ChangeSetting(NEW, Starting(seat))


def _starters(at: At) -> Iterator[MenuLine]:
    names = tables.names_of(at.state, 0)
    for seat, typed in ((None, _DRAW), *typed_players(at.state, _DRAW).items()):
        yield MenuLine(tables.describe_starting(seat, names), ChangeSetting(NEW, Starting(seat)), typed=typed)


STARTING: Final = Page(N_("Who starts"), _starters)


def _line_of_starting(at: At) -> Iterator[MenuLine]:
    names = tables.names_of(at.state, 0)
    yield MenuLine(tables.describe_starting(at.state.starting, names), STARTING)


# Before the game


def _can_start(at: At) -> bool:
    return at.state.can_start


def _line_of_ready(at: At) -> Iterator[MenuLine]:
    if (seat := at.model.seat) is not None:
        ready = at.state.seats[seat].ready
        words = _("say that you are not ready") if ready else _("say that you are ready")
        yield MenuLine(words, messages.SayReady(NEW, not ready))


def _press_ready(at: At) -> Outcome:
    if at.model.state is None or (seat := at.model.seat) is None:
        return at.ui.with_notice(_(Code.NOT_A_PLAYER.text)), None
    return at.ui, messages.SayReady(NEW, not at.state.seats[seat].ready)


def _free_seat(text: str, at: At) -> Request | None:
    numbers = map(str, range(1, len(at.state.seats) + 1))
    return messages.ChangeSeat(NEW, int(text) - 1) if text in numbers else None


SEAT: Final = page_of_seats(
    N_("Your seat"),
    lambda model: [] if model.state is None else free_seats(model.state),
    messages.ChangeSeat,
)


def _people(text: str, _at: At) -> Request | None:
    if text == "any":
        return messages.ChoosePeople(NEW, None)
    people = people_named(text)
    return None if people is None else messages.ChoosePeople(NEW, people)


def _peoples(at: At) -> Iterator[MenuLine]:
    chosen = choosers(at.state)
    for people in People:
        name, request = _(PEOPLES[people]), messages.ChoosePeople(NEW, people)
        if (seat := chosen.get(people)) is None:
            yield MenuLine(name, request, people, typed=name)
        elif seat == at.model.seat:
            yield MenuLine(_("{people}: your choice").format(people=name), request, people)
        else:
            words = _("{people}: chosen by {name}")
            player = tables.names_of(at.state, 0)[seat]
            yield MenuLine(words.format(people=name, name=player), people=people)
    yield MenuLine(_("whichever is left"), messages.ChoosePeople(NEW, None), typed="any")


PEOPLE: Final = Page(N_("Your people"), _peoples)


def _press_people(at: At) -> Outcome:
    """Open the page of the peoples, at the one that the seat has."""
    if at.model.state is None or (seat := at.model.seat) is None:
        return at.ui.with_notice(_(Code.NOT_A_PLAYER.text)), None
    own = at.state.seats[seat].people
    line = next((number for number, people in enumerate(People) if people == own), 0)
    return at.ui.opened(Menu(PEOPLE, line)), None


_LEVEL: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{LEVEL_LENGTH - 1}}}")


def _bot(text: str, at: At) -> Meaning | None:
    if at.state.stage != "gathering":
        raise Misplaced(_("The game has begun: no bot can take a seat. See the table's menu."))
    verb, _space, name = text.partition(" ")
    if verb == "remove":
        return _remove(name, at)
    return messages.SeatBot(NEW, text.lower()) if not text or _LEVEL.fullmatch(text.lower()) else None


def _bots_to_remove(at: At) -> tuple[str, ...]:
    typed = typed_players(at.state)
    return ("", *(f"remove {who}" for seat, who in typed.items() if at.state.seats[seat].level))


def _levels(at: At) -> Iterator[MenuLine]:
    for level in at.ui.offers.levels:
        words, about = describe_level(level), describe_temper(level)
        yield MenuLine(words, messages.SeatBot(NEW, level), about=about, typed=level)


BOT: Final = Page(N_("Bot level"), _levels)


def _press_bot(at: At) -> Outcome:
    """Seat a bot; if the server has several levels, ask for one."""
    ui, model, levels = at.ui, at.model, at.ui.offers.levels
    if model.state is None:
        return ui, None
    if not levels:
        text = _("To add a bot, run the command above in another terminal.")
    elif model.seat != model.state.host:
        text = _("The host of the table seats bots.")
    elif not model.state.room:
        text = _("No seat is free. The table's menu removes players and bots.")
    elif len(levels) == 1:
        return ui, messages.SeatBot(NEW, levels[0])
    else:
        return ui.opened(Menu(BOT, levels.index(usual_level(levels)))), None
    return ui.with_notice(text), None


_INVITES: Final = N_("invite those in the lobby to this table")


def _press_sit(at: At) -> Outcome:
    """Have a spectator take a free seat."""
    ui, state = at.ui, at.model.state
    if state is None or at.model.seat is not None:
        return ui.with_notice(_("You have a seat.")), None
    if not state.has_seat:
        return ui.with_notice(_("No seat is free. You will hear when one is.")), None
    return ui, requests.SitOrWatch(state.table)


def _can_invite(at: At) -> bool:
    """Return whether there are people in the lobby to invite to this table."""
    invites = at.ui.offers.invitations and at.state.has_seat and not at.state.switches.private
    return bool(invites and at.ui.guests)


def _press_invite(at: At) -> Outcome:
    """Invite the people in the lobby, unless it is empty or the table is private."""
    ui, state = at.ui, at.model.state
    if state is None:
        return ui, None
    if at.model.seat is None:
        why = _(Code.NOT_A_PLAYER.text)
    elif not ui.offers.invitations:
        why = _(Code.NO_LOBBY_CHAT.text)
    elif state.switches.private:
        why = _("Private tables are not shown in the lobby. Send the table's code to those you want here.")
    elif not state.has_seat:
        why = _("No seat is free. The table's menu removes players and bots.")
    elif not ui.guests:
        why = _("Nobody is in the lobby. You will hear when somebody comes.")
    else:
        return ui, messages.Invite(NEW)
    return ui.with_notice(why), None


def _swap(text: str, at: At) -> Request | None:
    match [seat_named(each, at.state) for each in text.split()]:
        case [int(one), int(other)] if one != other:
            return messages.Arrange(NEW, swapped(len(at.state.seats), one, other))
    return None


def _swaps(at: At) -> Iterator[MenuLine]:
    state = at.state
    for one, other in combinations(range(len(state.seats)), 2):
        words = _("seats {one} and {other}").format(
            one=seat_and_name(state, one), other=seat_and_name(state, other)
        )
        request = messages.Arrange(NEW, swapped(len(state.seats), one, other))
        yield MenuLine(words, request, typed=f"{one + 1} {other + 1}")


SWAP: Final = Page(N_("Swap two seats"), _swaps)


# What is asked of everybody at a table


def suggest(_screen: object, ui: Ui, model: TableModel) -> Outcome:
    if not hints_allowed(model):
        why = _("There are no hints at this table. The host can allow them in the table's menu (o).")
    elif model.legal is not None:
        return ui, requests.Errand.HINT
    elif is_paused(model):
        why = _(Code.PAUSED.text)
    else:
        why = _("There are hints on your own turn.")
    return ui.with_notice(why), None


def _has_moved(at: At) -> bool:
    """Return whether the player has laid a tile or placed a piece."""
    view, seat = at.model.view, at.model.seat
    return view is not None and seat is not None and (seat in view.laid_by or seat in view.owners.values())


def _undo(at: At) -> Outcome:
    model = at.model
    if at.ui.offers.takes_back and stage_of(model) == "playing" and model.seat is not None:
        return at.ui, requests.TakeBack(model.seat)
    if (asked := request_for(model, "take-back")) is None:
        return at.ui.with_notice(_("There is no move to take back.")), None
    return at.ui, asked


def _line_of_undo(at: At) -> Iterator[MenuLine]:
    if not at.ui.offers.takes_back:
        yield from _line_of_wish("take-back")(at)
    elif at.model.seat is not None:
        yield MenuLine(_("take back your last move"), requests.TakeBack(at.model.seat))


def _explain(text: str, _at: At) -> Handler | None:
    if (on := ON_OR_OFF.get(text)) is None:
        return None
    what = Explanations(wanted=on, laying=on)
    told = _("What is new is explained from now on.") if on else _("Nothing is explained any more.")

    def explain(_screen: object, ui: Ui, _model: TableModel) -> Outcome:
        return replace(ui, explains=what).with_notice(told), None

    return explain


# What can be asked for: to ask for it, to agree, to take either back.
_WISHES: Final[Mapping[messages.Wish, tuple[str, str, str]]] = {
    "pause": (N_("ask for a pause"), N_("agree to a pause"), N_("pause no longer needed")),
    "take-back": (
        N_("ask to take your last move back"),
        N_("agree that a move is taken back"),
        N_("withdraw the request to take a move back"),
    ),
    "more-time": (
        N_("ask for more time"),
        N_("agree to more time"),
        N_("withdraw the request for more time"),
    ),
}


def _line_of_wish(what: messages.Wish) -> Callable[[At], Iterator[MenuLine]]:
    """Return the line of the menu that asks for this, or answers who does."""

    def line(at: At) -> Iterator[MenuLine]:
        if (request := request_for(at.model, what)) is not None:
            yield MenuLine(_describe_request(at, what, on=request.on), request)

    return line


def _describe_request(at: At, what: messages.Wish, *, on: bool) -> str:
    if what == "pause" and at.state.paused is not None:
        return _("end the pause")
    ask, agree, no_longer = _WISHES[what]
    asked = open_request(at.state)
    words = no_longer if not on else ask if asked is None or asked.what != what else agree
    return _(words)


def _can_ask(what: messages.Wish) -> Callable[[At], bool]:
    return lambda at: request_for(at.model, what) is not None


def agree(_screen: object, ui: Ui, model: TableModel) -> Outcome:
    """Agree to the open request, or vote for a bot."""
    if (yes := request_to_answer(model, on=True)) is not None:
        return ui, yes
    if (vote := next_vote(model)) is not None and vote.agree:
        return ui, vote
    return ui.with_notice(_("There is nothing to agree to.")), None


def refuse(_screen: object, ui: Ui, model: TableModel) -> Outcome:
    """Refuse the open request, or withdraw an answer or a vote."""
    if (no := request_to_answer(model, on=False)) is not None:
        return ui, no
    if (vote := next_vote(model)) is not None and not vote.agree:
        return ui, vote
    return ui.with_notice(_("There is no open request.")), None


_READ_SECONDS: Final = 0.7


def _once_read(answer: Handler) -> Handler:
    """Return what answers a question that can have been read: before, the key moved over the board."""

    def answered(screen: object, ui: Ui, model: TableModel) -> Outcome:
        if ui.now - ui.asked_at < _READ_SECONDS:
            return ui.with_notice(
                _("You have just been asked something. Press the key again to answer.")
            ), None
        outcome: Outcome = answer(screen, ui, model)
        return outcome

    return answered


_ANSWER: Final = N_("answer a request or a vote")
_YES: Final = Key(("y",), _once_read(agree), _ANSWER, N_("yes"), for_players=True)
_NO: Final = Key(("n",), _once_read(refuse), _ANSWER, N_("no"), for_players=True)


def answers(model: TableModel) -> Iterator[Key]:
    """Yield the keys with which this player answers the open question."""
    vote = next_vote(model)
    if request_to_answer(model, on=True) is not None or (vote is not None and vote.agree):
        yield _YES
    if request_to_answer(model, on=False) is not None or (vote is not None and not vote.agree):
        yield _NO


_ANSWERS: Final = {"yes": True, "no": False}


def _vote(text: str, at: At) -> Request:
    """Return the vote on the player named, or the answer to what is asked, or the only vote there is."""
    hint = _("Type vote, yes or no, and a player who is away, for example: {example}")
    misread = BadText(hint.format(example="vote yes Bob"))
    answer, _space, name = text.partition(" ")
    if (on := _ANSWERS.get(answer.lower())) is None:
        raise misread
    if not name and (asked := request_to_answer(at.model, on=on)) is not None:
        return asked
    seats = at.state.seats
    if name:
        voted_on = seats_meant(name.strip(), [each.name for each in seats])
    else:
        voted_on = [seat for seat, each in enumerate(seats) if each.votes_needed]
    if len(voted_on) != 1:
        raise misread
    return messages.Vote(NEW, voted_on[0], on)


def _votes(at: At) -> Iterator[str]:
    """Yield the votes on players who are away, or what answers a request."""
    voted_on = [who for seat, who in typed_players(at.state).items() if at.state.seats[seat].votes_needed]
    yield from (f"{answer} {who}" for who in voted_on for answer in _ANSWERS)
    yield from (word for word, on in _ANSWERS.items() if request_to_answer(at.model, on=on) is not None)


def _line_of_refusal(at: At) -> Iterator[MenuLine]:
    yes, no = (request_to_answer(at.model, on=on) for on in (True, False))
    if yes is not None and no is not None:
        yield MenuLine(_("say no to what a player asks for"), no)


def _pause(text: str, at: At) -> Request | None:
    verb, _space, moment = text.partition(" ")
    if verb != "until":
        return switching(lambda on: messages.AskPause(NEW, on))(text, at)  # type: ignore[return-value]
    return messages.AskPause(NEW, on=True, until=moment_named(moment, at.ui.today))


PAUSE_UNTIL: Final = TypedLine().filled("pause until ")


def _lines_of_pause(at: At) -> Iterator[MenuLine]:
    yield from _line_of_wish("pause")(at)
    if at.state.paused is None and open_request(at.state) is None:
        about = _("Type it like this: {example}").format(example="pause until friday 20:00")
        yield MenuLine(_("ask for a pause until a day and hour"), PAUSE_UNTIL, about=about)


def _press_pause(at: At) -> Outcome:
    if (asked := request_for(at.model, "pause")) is None:
        return at.ui.with_notice(_("Only the players can pause a game.")), None
    return at.ui, asked


def _holiday(text: str, at: At) -> Request | None:
    if not at.state.holidays and text != "off":  # the host may have changed that during a holiday
        raise Misplaced(_("There are no holidays in this game."))
    return switching(lambda on: messages.TakeHoliday(NEW, on))(text, at)  # type: ignore[return-value]


def _line_of_holiday(at: At) -> Iterator[MenuLine]:
    if (holiday := holiday_request(at.model)) is not None and (seat := at.model.seat) is not None:
        days = tables.describe_holidays(at.state.seats[seat].holidays)
        form = _("take a holiday ({days}): your clock stops until you move or end it")
        yield MenuLine(form.format(days=days) if holiday.on else _("end your holiday"), holiday)


_SPECTATORS: Final = "spectators"


def _muting(verb: str, *, on: bool) -> Read:
    """Return what reads whom to mute or to hear again: a player, a spectator, or all spectators.

    In the lobby it can be anybody, whether they are there or not.
    """

    def read(text: str, at: At) -> Mute:
        model = at.model
        if (state := model.state) is None:
            if text:
                return Mute(text, on)
            raise BadText(_("Type it like this: {example}").format(example=f"{verb} Bob"))
        if text.casefold() == _SPECTATORS:
            return Mute(None, on)
        if (seat := seat_named(text, state)) is not None and seat != model.seat and state.seats[seat].name:
            return Mute(state.seats[seat].name, on)
        if text and ((number := spectator_named(text, state)) is not None or not on):
            name = next((each.name for each in state.watching if each.number == number), text)
            return Mute(name or text, on)  # one who has left can still be heard again
        if text.casefold() in (each.casefold() for each in _overheard(at)):
            return Mute(text, on)
        if seat is None:
            refuse_name(text)
        example = f"{verb} Bob, {verb} {_SPECTATORS}"
        raise BadText(_("Type it like this: {example}").format(example=example))

    return read


def _overheard(at: At) -> tuple[str, ...]:
    """Return who is in the lobby, as long as the table hears what is said there."""
    waits = at.state.stage == "gathering" and not at.state.switches.private
    return tuple(each.name for each in at.ui.guests) if waits else ()


def _audible(at: At) -> tuple[str, ...]:
    """Return how to type those who can be muted, or heard again."""
    state, company = at.model.state, at.ui.company
    if state is None:
        return (
            () if company is None else tuple(each.name for each in company.people if each.name != at.ui.name)
        )
    heard = speakers(at.model)
    names = (who for seat, who in typed_players(state, _SPECTATORS).items() if seat in heard)
    return (_SPECTATORS, *names, *typed_spectators(state, _SPECTATORS).values(), *_overheard(at))


def _mutes(at: At) -> Iterator[MenuLine]:
    """Yield for everybody else at the table whether the player hears them."""
    state, talk = at.state, at.ui.talk
    players = (state.seats[seat].name for seat in speakers(at.model))
    watching = [tables.spectator_name(each.number, each.name) for each in state.watching]
    here = *tables.names_of(state, 0), *watching, *_overheard(at)
    gone = talk.muted.difference(name.casefold() for name in here)
    for name in (None, *players, *watching, *_overheard(at), *sorted(gone)):
        who = _("all spectators") if name is None else name
        form = _("{name}: heard") if talk.hears(name) else _("{name}: muted")
        yield MenuLine(form.format(name=who), Mute(name, on=talk.hears(name)))


MUTE: Final = Page(N_("Muted players"), _mutes)


def _line_of_mutes(at: At) -> Iterator[MenuLine]:
    if at.state.watching or speakers(at.model) or _overheard(at):
        yield MenuLine(_("mute or unmute"), MUTE)


def _signs(_at: At) -> Iterator[MenuLine]:
    for number, (sign, words) in enumerate(SIGNS.items(), start=1):
        yield MenuLine(_(words), messages.Say(NEW, sign), typed=str(number))


SIGN: Final = Page(N_("A sign for everybody"), _signs)


def _sign(text: str, _at: At) -> Request | None:
    signs = dict(enumerate(SIGNS, start=1))
    return messages.Say(NEW, signs[int(text)]) if text.isdecimal() and int(text) in signs else None


def _line_of_signs(_at: At) -> Iterator[MenuLine]:
    yield MenuLine(_("give a sign to everybody"), SIGN)


def _notify(text: str, _at: At) -> Request | None:
    if re.fullmatch(rf"\d{{{NOTICE_CODE_LENGTH}}}", text, re.ASCII):
        return messages.ConfirmCall(NEW, text)
    if text == "off":
        return messages.CallMe(NEW)
    fits = ("@" in text or "://" in text) and len(text) <= ADDRESS_LENGTH
    return messages.CallMe(NEW, text) if fits else None


NOTIFY: Final = TypedLine().filled("notify ")
CALLED: Final = N_("be notified when it is your turn and you are away")


def _line_of_notices(at: At) -> Iterator[MenuLine]:
    """Yield what the player can do about being called: leave an address, confirm it, or remove it."""
    notices = at.model.notices
    if notices.state == "confirmed":
        words = _("no more notifications to your URL while you are away")
        if notices.kind == "mail":
            words = _("no more e-mail while you are away")
        yield MenuLine(words, messages.CallMe(NEW))
    elif notices.state == "unconfirmed":
        yield MenuLine(_("type the code that was sent to your address"), NOTIFY)
    else:
        about = _("Type {what} after notify. A code comes there, to confirm it.")
        what = describe_addresses(at.ui.offers.notices)
        yield MenuLine(_(CALLED), NOTIFY, about=about.format(what=what))


def describe_addresses(kinds: Sequence[messages.NoticeKind]) -> str:
    """Return the kinds of addresses that a player can leave for notifications."""
    return " / ".join(_(tables.NOTICES_GO_TO[kind]) for kind in kinds)


def remark(text: str) -> str:
    """Return the chat message typed; raises BadText if it is empty."""
    if not text:
        raise BadText(_("Type what you want to say, for example: {example}").format(example="say hello"))
    return text


def _say(text: str, at: At) -> Request:
    return (messages.SayInLobby if at.model.table is None else messages.Say)(NEW, remark(text))


def _place(text: str, at: At) -> Request:
    match text.split():
        case [piece, field] if (move := placement(piece, field, at.model)) is not None:
            return move
    hint = _("'{line}' is not a command. Type a piece and a field, for example: {example}")
    raise BadText(hint.format(line=text, example="m* C4"))


# What the host can do about the players


def _remove(text: str, at: At) -> Request | None:
    if (spectator := spectator_named(text, at.state)) is not None:
        return messages.Dismiss(NEW, spectator)
    seat = known_seat(text, at.state)
    return None if seat is None else messages.Remove(NEW, seat)


def _watching(at: At) -> Iterator[MenuLine]:
    typed = typed_spectators(at.state)
    for each in at.state.watching:
        name = tables.spectator_name(each.number, each.name)
        yield MenuLine(name, messages.Dismiss(NEW, each.number), typed=typed[each.number])


def _removable(model: TableModel) -> list[int]:
    return [] if stage_of(model) == "over" else removable(model)


REMOVE: Final = page_of_seats(N_("Remove a player"), _removable, messages.Remove)
SPECTATORS: Final = Page(N_("Remove a spectator"), _watching)
SUBSTITUTE: Final = page_of_seats(N_("Player a bot plays for"), substitutable, messages.SubstituteNow)
HAND_OVER: Final = page_of_seats(N_("New host"), heirs, messages.HandOver)


def _lines_of_removal(at: At) -> Iterator[MenuLine]:
    if _removable(at.model):
        gathering = at.state.stage == "gathering"
        words = _("remove a player") if gathering else _("free the seat of a player who is away")
        yield MenuLine(words, REMOVE)
    if at.state.watching:
        yield MenuLine(_("remove a spectator"), SPECTATORS)


def _ends(_at: At) -> Iterator[MenuLine]:
    yield MenuLine(_("no, play on"), Act.CANCEL)
    yield MenuLine(_("yes: the game ends, and nobody wins"), messages.EndGame(NEW))


END: Final = Page(N_("End the game for everybody?"), _ends)


def _end(text: str, at: At) -> Meaning | None:
    if text != "game":
        return None
    if END_GAME.may(at) is May.YES:  # which is asked once more
        return lambda _screen, ui, _model: (ui.opened(Menu(END)), None)
    return messages.EndGame(NEW)


# After the game


def _play_again(at: At) -> Outcome:
    """Ask for another game of the same players; spectators follow them to it."""
    state = at.model.state
    if at.model.seat is not None:
        return at.ui, messages.Rematch(NEW)
    if state is not None and state.next is not None:
        return at.ui, requests.SitOrWatch(state.next)
    return at.ui.with_notice(_(Code.NOT_A_PLAYER.text)), None


def _can_play_again(at: At) -> bool:
    """Return whether the same players can play again, or do so already and can be watched."""
    model, evening = at.model, at.ui.evening
    followed = model.state is not None and model.state.next is not None
    drawn = () if evening is None else (each.table for each in evening.tables)  # who plays whom next
    return model.table not in drawn and (model.seat is not None or followed)


def _looks_back(at: At) -> bool:
    return at.ui.finished_games is not None


def _has_companions(at: At) -> bool:
    """Return whether others may be there to look at the finished game together."""
    return _looks_back(at) and not at.ui.offers.private


def _look_together(text: str, at: At) -> Meaning | None:
    """Return what leads or follows: of a game without a result, the server says that it cannot be shown."""
    ended = at.model.state is not None and at.model.state.ended
    return exactly("", requests.Review(together=True) if ended else Act.TOGETHER)(text, at)


_APPLAUSE: Final = next(iter(SIGNS))


def _analyses(at: At) -> bool:
    return at.ui.finished_games is not None and at.ui.finished_games.judged


def _saves(at: At) -> bool:
    return at.ui.finished_games is not None and at.ui.finished_games.saved


def _is_studied(at: At) -> bool:
    return at.model.state is not None and at.model.state.studied is not None


# Outside a table


def _open(text: str, _at: At) -> Request:
    """Return the request to open a table: players, who starts, absence policy, and words like `random`."""
    opening, starts = requests.FOR_WHOEVER_COMES, "random"
    settings = {row.name for row in tables.ROWS}
    for word in text.lower().split():
        if word in map(str, DEALS):
            opening = structs.replace(opening, players=int(word), grows=False)
        elif word.isdecimal():
            hint = _("Palatinus is for {least} to {most} players, not {n}.")
            raise BadText(hint.format(n=word, least=min(DEALS), most=max(DEALS)))
        elif word == "random":
            opening = structs.replace(opening, random_layout=True)
        elif (name := word.removeprefix("no-")) in settings:
            switches = structs.replace(opening.switches, **{name: name == word})
            opening = structs.replace(opening, switches=switches)
        elif word.startswith("starts:"):
            starts = word.removeprefix("starts:")
        else:
            opening = structs.replace(opening, absence=policy_named(word))
    return structs.replace(opening, starting=seat_to_start(starts, opening.players))


def _going(kind: type[requests.Join | requests.WatchTable]) -> Read:
    return lambda text, _at: kind(table_code(text)) if len(text.split()) == 1 else None


def _rename(text: str, at: At) -> Request:
    if at.model.table is not None:
        raise Misplaced(_("Names can be changed in the lobby only. Leave the table first."))
    if not text:
        raise BadText(_("Type your name, for example: {example}").format(example="name Ann"))
    if (fault := fault_of(text)) is not None:
        raise BadText(fault)
    return requests.Rename(text)


def _refresh(text: str, at: At) -> Request | None:
    if at.model.table is not None:
        raise Misplaced(_("The list of tables is in the lobby. Leave the table to see it."))
    return None if text else messages.ListTables(NEW)


def _count(text: str, at: At) -> Act | None:
    if at.model.view is None:
        raise Misplaced(_("No game is running here."))
    return None if text else Act.COUNTS


def _evening(text: str, _at: At) -> Meaning | None:
    how = {each: messages.TakePart(NEW, each) for each in get_args(messages.TakesPart)}
    return Act.EVENING if not text else how.get(text)


# The order is that of the menu, and of the help.
_SEAT_OR_PEOPLE: Final = N_("before the game: take a free seat, choose a people")
_CONSENT: Final = N_("pause (until fri 20:00), time, holiday; off: end it")
_SEATS: Final = N_("swap two seats, shuffle all; before the game")
PAGES: Final = tuple(
    Action(
        word,
        N_("open help or rules, or quit"),
        exactly("", Act[word.upper()]),
        stages=ANYWHERE,
        who=Who.ANYBODY,
    )
    for word in ("help", "rules", "quit")
)

START: Final = Action(
    "start",
    N_("start the game, once everybody is there"),
    exactly("", messages.StartGame(NEW)),
    stages=GATHERING,
    who=Who.HOST,
    possible=_can_start,
    keys=(
        Key(
            ("enter", "s"),
            asking(messages.StartGame(NEW)),
            N_("start the game (host only)"),
            N_("start"),
            for_players=True,
            typed=("",),
        ),
    ),
)
READY: Final = Action(
    "ready, ready off",
    N_("you are ready for the game, or not yet"),
    switching(lambda on: messages.SayReady(NEW, on)),
    texts=either("", "off"),
    stages=GATHERING,
    possible=lambda at: not at.ui.offers.private,
    menu=_line_of_ready,
    keys=(
        Key(
            ("r",),
            pressing(_press_ready),
            N_("say that you are ready, or take that back"),
            N_("ready"),
            for_players=True,
        ),
    ),
    for_company=True,
)
SEAT_BOT: Final = Action(
    "bot slave, remove Bob",
    N_("seat a bot at a level, or remove it; before the game"),
    _bot,
    texts=_bots_to_remove,
    pages=(BOT,),
    stages=GATHERING,
    who=Who.HOST,
    possible=lambda at: at.ui.offers.levels and at.state.room,
    menu=lambda _at: [MenuLine(_("seat a bot"), BOT)],
    keys=(Key(("b",), pressing(_press_bot), N_("let a bot take a free seat"), N_("bot"), for_players=True),),
)
SIT: Final = Action(
    "sit",
    N_("take a free seat, if you are watching"),
    exactly("", pressing(_press_sit)),
    stages=GATHERING,
    who=Who.ANYBODY,
    possible=lambda at: at.model.seat is None and at.state.has_seat,
    keys=(
        Key(
            ("g",),
            pressing(_press_sit),
            "",
            N_("take a seat"),
        ),
    ),
    for_company=True,
)
INVITE: Final = Action(
    "invite",
    _INVITES,
    exactly("", pressing(_press_invite)),
    stages=GATHERING,
    possible=_can_invite,
    menu=lambda _at: [MenuLine(_(_INVITES), messages.Invite(NEW))],
    keys=(
        Key(
            ("i",),
            pressing(_press_invite),
            "",
            N_("invite"),
            for_players=True,
        ),
    ),
    for_company=True,
)
AGAIN: Final = Action(
    "again",
    N_("play again with the same players"),
    exactly("", pressing(_play_again)),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_can_play_again,
    keys=(
        Key(
            ("g",),
            pressing(_play_again),
            "",
            N_("play again"),
            for_spectators=(N_("play in their next game if a seat is free, or watch it"), N_("next game")),
        ),
    ),
)
END_GAME: Final[Action] = Action(
    "end game",
    N_("end the game without a result"),
    _end,
    texts=either("game"),
    stages=PLAYING,
    who=Who.HOST,
    pages=(END,),
    menu=lambda _at: [MenuLine(_(END_GAME.help), END)],
)
TOGETHER: Final = Action(
    "together",
    N_("look together: lead, or follow the leader; again: stop"),
    _look_together,
    stages=OVER,
    who=Who.ANYBODY,
    possible=_has_companions,
    keys=(Key(("f",), Act.TOGETHER, "", N_("together")),),
    for_company=True,
)
APPLAUD: Final = Action(
    "applaud",
    N_("applaud"),
    exactly("", messages.Say(NEW, _APPLAUSE)),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_has_companions,
    keys=(Key(("a",), asking_if(_has_companions, messages.Say(NEW, _APPLAUSE)), "", N_("applaud")),),
)
STUDY: Final = Action(
    "study",
    N_("join the study that was opened from this game"),
    exactly("", requests.JoinStudy()),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_is_studied,
    keys=(Key(("B",), asking(requests.JoinStudy()), "", N_("study")),),
)
REVIEW: Final = Action(
    "review",
    N_("replay the game with everything revealed"),
    exactly("", requests.Review()),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_looks_back,
    keys=(Key(("v",), asking_if(_looks_back, requests.Review()), "", N_("review")),),
)
ANALYSE: Final = Action(
    "analyse",
    N_("replay it with everybody's chances"),
    exactly("", requests.Review(analysed=True)),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_analyses,
    keys=(
        Key(
            ("y",),
            asking_if(_analyses, requests.Review(analysed=True)),
            "",
            N_("analyse"),
            typed=("analyse",),
        ),
    ),
)
SAVE: Final = Action(
    "save",
    N_("save the game's record in a file"),
    exactly("", requests.Errand.SAVE_RECORD),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_saves,
    keys=(Key(("w",), asking_if(_saves, requests.Errand.SAVE_RECORD), "", N_("save")),),
)
PICTURE: Final = Action(
    "picture",
    N_("save a picture of the board in a file"),
    exactly("", requests.Errand.SAVE_PICTURE),
    stages=OVER,
    who=Who.ANYBODY,
    possible=_saves,
    keys=(Key(("e",), asking_if(_saves, requests.Errand.SAVE_PICTURE), "", N_("picture")),),
)
LEAVE: Final = Action(
    "leave",
    N_("leave the table (a game keeps your seat)"),
    exactly("", messages.Leave(NEW)),
    who=Who.ANYBODY,
    keys=(Key(("escape",), Act.LEAVE, N_("leave the table"), N_("leave"), typed=("back",)),),
)
SAY: Final = Action(
    "say hello",
    N_("say something to the table, or in the lobby"),
    _say,
    texts=anything,
    stages=ANYWHERE,
    who=Who.ANYBODY,
    for_company=True,
)
PLACE: Final = Action(
    "m* C4",
    N_("place a merchant with the wolf (m m* f f* s) on C4"),
    _place,
    name="place",
    more=(("Lm* C4", N_("the same of your second people (with two players)")),),
    texts=nothing,
    stages=PLAYING,
)
ACTIONS: Final[tuple[Action, ...]] = (
    PLACE,
    Action(
        "lay 3 2",
        N_("lay the tile at position 3, turned twice"),
        lambda text, at: laying(text, at.model),
        texts=nothing,
        stages=PLAYING,
    ),
    Action(
        "plan m C4, plan off",
        N_("plan a move for your turn; nobody else sees it"),
        read_plan,
        more=(("plan remove 2", N_("remove one; plan m C4 if Bob takes D6: on a condition")),),
        texts=nothing,
        stages=PLAYING,
    ),
    Action(
        "plans",
        N_("your plans, in the order in which they are tried"),
        exactly("", open_plans),
        stages=PLAYING,
        menu=line_of_plans,
    ),
    SAY,
    START,
    Action(
        "title Friday",
        N_("name the table"),
        _title,
        texts=anything,
        who=Who.HOST,
        shown=True,
        menu=_line_of_title,
    ),
    *map(_of_row, tables.ROWS),
    Action(
        "absence bot:60s",
        N_("what happens when a player is away or slow"),
        _absence,
        texts=anything,
        stages=UNFINISHED,
        who=Who.HOST,
        shown=True,
        pages=(ABSENCE,),
        menu=lambda at: [MenuLine(tables.describe_policy(at.state.policy), ABSENCE)],
    ),
    Action(
        "holidays 7",
        N_("holiday days per player, in correspondence games"),
        _holidays,
        texts=anything,
        stages=UNFINISHED,
        who=Who.HOST,
        possible=lambda at: letter_seconds(at.state.policy),
        shown=True,
        menu=_line_of_holidays,
    ),
    Action(
        "starts Bob, random",
        N_("who starts; before the game"),
        _starts,
        texts=nothing,
        pages=(STARTING,),
        stages=GATHERING,
        who=Who.HOST,
        shown=True,
        menu=_line_of_starting,
    ),
    READY,
    Action(
        "seat 3",
        _SEAT_OR_PEOPLE,
        _free_seat,
        texts=nothing,
        pages=(SEAT,),
        stages=GATHERING,
        possible=lambda at: free_seats(at.state),
        menu=lambda _at: [MenuLine(_("move to another seat"), SEAT)],
        for_company=True,
    ),
    Action(
        "people S, any",
        _SEAT_OR_PEOPLE,
        _people,
        texts=nothing,
        pages=(PEOPLE,),
        stages=GATHERING,
        menu=lambda _at: [MenuLine(_("choose your people"), PEOPLE)],
        keys=(
            Key(
                ("d",),
                pressing(_press_people),
                N_("choose the people that you play"),
                N_("people"),
                for_players=True,
            ),
        ),
        for_company=True,
    ),
    Action(
        "hint",
        N_("suggest a move, where the table allows hints"),
        exactly("", suggest),
        stages=PLAYING,
        possible=lambda at: hints_allowed(at.model) and at.model.legal is not None,
        keys=(Key(("s",), suggest, "", N_("hint"), for_players=True, with_others=True),),
    ),
    Action(
        "undo",
        N_("take back your last move, if the others agree"),
        exactly("", pressing(_undo)),
        stages=PLAYING,
        possible=lambda at: _has_moved(at) if at.ui.offers.takes_back else _can_ask("take-back")(at),
        menu=_line_of_undo,
        keys=(Key(("z",), pressing(_undo), "", N_("take back"), for_players=True, with_others=True),),
    ),
    Action(
        "explain on, off",
        N_("whether what is new is explained, as in your first game"),
        _explain,
        texts=either(*ON_OR_OFF),
        stages=PLAYING,
        possible=lambda at: at.ui.explains is not None,
    ),
    Action(
        "vote yes, vote no Bob",
        N_("to what is asked, or whether a bot plays for Bob"),
        _vote,
        texts=_votes,
        stages=PLAYING,
        menu=_line_of_refusal,
        keys=(
            Key(("v",), asking(requests.Errand.SEE_MOVES), N_("look back at the moves"), with_others=True),
        ),
        for_company=True,
    ),
    Action(
        "pause",
        _CONSENT,
        _pause,
        texts=either("", "off", "until ..."),
        stages=PLAYING,
        possible=_can_ask("pause"),
        menu=_lines_of_pause,
        keys=(
            Key(
                ("p",),
                pressing(_press_pause),
                N_("ask for a pause, or agree to it; or end it"),
                for_players=True,
                with_others=True,
            ),
        ),
        for_company=True,
    ),
    Action(
        "time",
        _CONSENT,
        switching(lambda on: messages.Ask(NEW, "more-time", on)),
        texts=either("", "off"),
        stages=PLAYING,
        possible=_can_ask("more-time"),
        menu=_line_of_wish("more-time"),
        for_company=True,
    ),
    Action(
        "holiday",
        _CONSENT,
        _holiday,
        texts=either("", "off"),
        stages=PLAYING,
        possible=lambda at: holiday_request(at.model),
        menu=_line_of_holiday,
        for_company=True,
    ),
    Action(
        "sign 1",
        N_("give a sign to everybody"),
        _sign,
        texts=nothing,
        who=Who.ANYBODY,
        pages=(SIGN,),
        menu=_line_of_signs,
        for_company=True,
    ),
    Action(
        "mute Bob",
        N_("mute them; unmute: hear them again"),
        _muting("mute", on=True),
        texts=_audible,
        stages=ANYWHERE,
        who=Who.ANYBODY,
        pages=(MUTE,),
        menu=_line_of_mutes,
    ),
    Action(
        "unmute Bob",
        N_("mute them; unmute: hear them again"),
        _muting("unmute", on=False),
        texts=_audible,
        stages=ANYWHERE,
        who=Who.ANYBODY,
    ),
    Action(
        "notify ann@x.org, off",
        N_("be notified while you are away; the code confirms it"),
        _notify,
        texts=either("...", "off"),
        stages=UNFINISHED,
        possible=lambda at: at.ui.offers.notices,
        menu=_line_of_notices,
        for_company=True,
    ),
    SIT,
    INVITE,
    SEAT_BOT,
    Action(
        "swap 1 3",
        _SEATS,
        _swap,
        texts=nothing,
        pages=(SWAP,),
        stages=GATHERING,
        who=Who.HOST,
        menu=lambda _at: [MenuLine(_("swap two seats"), SWAP)],
    ),
    Action(
        "shuffle",
        _SEATS,
        exactly("", messages.Arrange(NEW, None)),
        stages=GATHERING,
        who=Who.HOST,
        menu=lambda _at: [MenuLine(_("shuffle the seats"), messages.Arrange(NEW, None))],
    ),
    Action(
        "stand-in Bob",
        N_("have a bot play for a player who is away"),
        of_seat(messages.SubstituteNow),
        texts=nothing,
        pages=(SUBSTITUTE,),
        stages=PLAYING,
        who=Who.HOST,
        possible=lambda at: substitutable(at.model),
        menu=lambda _at: [MenuLine(_("have a bot play for a player who is away"), SUBSTITUTE)],
    ),
    Action(
        "remove Bob",
        N_("remove a player (in a game: if away) or a spectator"),
        _remove,
        texts=nothing,
        pages=(REMOVE, SPECTATORS),
        who=Who.HOST,
        menu=_lines_of_removal,
    ),
    Action(
        "host Bob",
        N_("make another player the host"),
        of_seat(messages.HandOver),
        texts=nothing,
        pages=(HAND_OVER,),
        who=Who.HOST,
        possible=lambda at: heirs(at.model),
        menu=lambda _at: [MenuLine(_("make another player the host"), HAND_OVER)],
        for_company=True,
    ),
    END_GAME,
    AGAIN,
    REVIEW,
    ANALYSE,
    SAVE,
    PICTURE,
    TOGETHER,
    APPLAUD,
    STUDY,
    LEAVE,
    Action("menu", N_("the table: what its host can do"), exactly("", Act.MENU), who=Who.ANYBODY),
    Action(
        "evening, evening play",
        N_("the evening: sign up, pause, standings"),
        _evening,
        texts=either("", *get_args(messages.TakesPart)),
        stages=ANYWHERE,
        who=Who.ANYBODY,
        possible=lambda at: at.ui.evening is not None,
        for_company=True,
    ),
    Action(
        "count",
        N_("what others may hold, and influence on the hills"),
        _count,
        stages=ANYWHERE,
        who=Who.ANYBODY,
        possible=lambda at: at.model.view is not None,
    ),
    Action(
        "join KXQT",
        N_("join or watch the table with that code"),
        _going(requests.Join),
        texts=anything,
        stages=LOBBY,
        who=Who.ANYBODY,
    ),
    Action(
        "watch KXQT",
        N_("join or watch the table with that code"),
        _going(requests.WatchTable),
        texts=anything,
        stages=LOBBY,
        who=Who.ANYBODY,
    ),
    Action(
        "open random",
        N_("open a table, tiles at random; starts:2, starts:me"),
        _open,
        more=(
            ("open 3", N_("open a table for that many, not for all who join")),
            ("open 4 random vote:2m", N_("or wait, move-clock:3d+12h, game-clock:30m, bot:60s")),
            ("open private", N_("open a table that is not in the list")),
            ("open no-spectators", N_("and so for each setting that is on or off")),
        ),
        texts=anything,
        stages=ANYWHERE,
        who=Who.SPECTATORS,
        menu=lambda _at: [MenuLine(_("open another table"), requests.FOR_WHOEVER_COMES)],
    ),
    Action(
        "name Ann", N_("change the name others see"), _rename, texts=anything, stages=LOBBY, who=Who.ANYBODY
    ),
    Action("refresh", N_("refresh the list"), _refresh, stages=LOBBY, who=Who.ANYBODY),
    *PAGES,
)


def _main(at: At) -> Iterator[MenuLine]:
    for action in ACTIONS:
        may = action.may(at)
        if may is May.NO or (action.for_company and at.ui.offers.private):
            continue
        for line in action.menu(at):
            yield line if may is May.YES else structs.replace(line, effect=None)


def _who_may(at: At) -> str:
    """Return what to tell players who are not the host; empty for the host."""
    if at.model.seat == at.state.host:
        return ""
    host = tables.names_of(at.state, 0)[at.state.host]
    return _("Only the host, {name}, can change the table's settings.").format(name=host)


MENU: Final = Page(N_("The table"), _main, _who_may)
