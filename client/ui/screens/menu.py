"""The menu of a table: what its host can do, and how the table is set up."""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Self, TypeAlias, assert_never

from msgspec import Struct

from client.language import N_, _, labelled
from client.levels import describe_level, describe_temper
from client.tables.table import TableModel, open_request
from client.ui.at_table import holiday_request, request_for, request_to_answer
from client.ui.draw.page import MARK, line_chosen, rows_around, short_list, with_news
from client.ui.frame import EMPTY, Line, chips, clickable, line, padded, paragraphs, width_of, wrapped
from client.ui.keys import HELP, LINES, Act, Action, ChooseLine, Key
from client.ui.requests import Request
from client.ui.state import LinePrompt, Mute, Notice, Outcome, Overlay, Pane, TypedLine, Ui
from client.ui.texts import tables
from client.ui.texts.pieces import PEOPLES
from client.ui.texts.signs import SIGNS
from engine.pieces import People
from protocol import messages
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, LongClock, MoveClock, letter_seconds
from protocol.messages import NEW, ChangeSetting
from protocol.settings import AbsenceSetting, Starting

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

# Lines of the menu that the help has, too.
SUBSTITUTE: Final = N_("have a bot play for a player who is away")
HAND_OVER: Final = N_("make another player the host")
END: Final = N_("end the game without a result")


class MenuPage(enum.Enum):
    MAIN = N_("The table")
    STARTING = N_("Who starts")
    ABSENCE = N_("What happens when a player is away or slow")
    SEAT = N_("Your seat")
    PEOPLE = N_("Your people")
    BOT = N_("Bot level")
    SWAP = N_("Swap two seats")
    REMOVE = N_("Remove a player")
    HAND_OVER = N_("New host")
    SUBSTITUTE = N_("Player a bot plays for")
    SPECTATORS = N_("Remove a spectator")
    MUTE = N_("Muted players")
    SIGNS = N_("A sign for everybody")
    END = N_("End the game for everybody?")


Effect: TypeAlias = Request | TypedLine | MenuPage | Mute


class MenuLine(Struct, frozen=True):
    """A line of the menu, with the sign of a people if it is about one; without an effect, it only informs.

    `about` appears below the menu while the player is on the line.
    """

    text: str
    effect: Effect | None = None
    people: People | None = None
    about: str = ""


_KEYS: Final = (
    HELP,
    *LINES,
    Key(("enter", " "), Act.CONFIRM, N_("choose this line"), N_("choose")),
    Key(("escape", "backspace", "left", "q"), Act.CANCEL, N_("back"), N_("back")),
    Key(("o",), Act.MENU, N_("close the menu"), N_("close")),
    Key(("c-c",), Act.QUIT, N_("quit")),
)


@dataclass(frozen=True, slots=True)
class TableMenu(Overlay):
    """The menu of a table at one of its pages; `chosen` is the line that the player is on."""

    page: MenuPage = MenuPage.MAIN
    chosen: int = 0

    own_keys = _KEYS

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lines = [*choices(self.page, ui, model)]
        if (there := line_chosen(action, self.chosen, len(lines))) is not None:
            return replace(ui, overlay=replace(self, chosen=there)), None
        match action:
            case Act.CONFIRM | ChooseLine() if self.chosen < len(lines):
                return _effect(ui, lines[self.chosen].effect)
            case Act.CANCEL if self.page is not MenuPage.MAIN:
                main = [*choices(MenuPage.MAIN, ui, model)]
                at = next((at for at, each in enumerate(main) if each.effect is self.page), 0)
                return replace(ui, overlay=TableMenu(chosen=at)), None
            case Act.CANCEL | Act.MENU:
                return replace(ui, overlay=None), None
            case _:
                return ui, None

    def block(self, pane: Pane, *, small: bool) -> tuple[list[Line], int]:
        return (_small_menu if small else _menu_block)(self, pane), 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        return (_(self.page.value), *filter(None, [_who_may(self, model)]))

    def options(self, ui: Ui, model: TableModel) -> Sequence[str]:
        lines = [*choices(self.page, ui, model)]
        return [labelled(each.text, each.about) if each.about else each.text for each in lines]

    def at_option(self, number: int) -> Self:
        return replace(self, chosen=number)


def may_end(model: TableModel) -> bool:
    """Return whether the player can end the game: as the host of a running one."""
    state = model.state
    return state is not None and state.stage == "playing" and model.seat == state.host


def _effect(ui: Ui, effect: Effect | None) -> Outcome:
    match effect:
        case None:
            return ui, None
        case TypedLine():
            return replace(ui, overlay=None, entry=effect), None
        case Mute():
            return with_mute(replace(ui, overlay=None), effect), None
        case MenuPage():
            return replace(ui, overlay=TableMenu(effect)), None
        case request:
            return replace(ui, overlay=None), request


def with_mute(ui: Ui, mute: Mute) -> Ui:
    told = Notice(tables.describe_mute(mute.name, on=mute.on))
    return replace(ui, talk=ui.talk.after(mute), notice=told)


def choices(page: MenuPage, ui: Ui, model: TableModel) -> Iterator[MenuLine]:
    """Yield the lines of a menu page."""
    state = model.state
    if state is None:
        return

    def of_seats(seats: list[int], effect: Callable[[int, int], Request]) -> Iterator[MenuLine]:
        return (MenuLine(_at(state, seat), effect(NEW, seat)) for seat in seats)

    match page:
        case MenuPage.MAIN:
            yield from _main(ui, model, state)
        case MenuPage.STARTING:
            names = tables.names_of(state, 0)
            for seat in (None, *(seat for seat, each in enumerate(state.seats) if each.name is not None)):
                yield MenuLine(tables.describe_starting(seat, names), ChangeSetting(NEW, Starting(seat)))
        case MenuPage.ABSENCE:
            for policy in POLICIES:
                yield MenuLine(tables.describe_policy(policy), ChangeSetting(NEW, AbsenceSetting(policy)))
        case MenuPage.SEAT:
            yield from of_seats(free_seats(state), messages.ChangeSeat)
        case MenuPage.PEOPLE:
            yield from _peoples(model, state)
        case MenuPage.BOT:
            for level in ui.capabilities.levels:
                yield MenuLine(
                    describe_level(level), messages.SeatBot(NEW, level), about=describe_temper(level)
                )
        case MenuPage.SWAP:
            for one, other in combinations(range(len(state.seats)), 2):
                words = _("seats {one} and {other}").format(one=_at(state, one), other=_at(state, other))
                yield MenuLine(words, messages.Arrange(NEW, swapped(len(state.seats), one, other)))
        case MenuPage.REMOVE:
            yield from of_seats(removable(model, state), messages.Remove)
        case MenuPage.HAND_OVER:
            yield from of_seats(_heirs(model, state), messages.HandOver)
        case MenuPage.SUBSTITUTE:
            yield from of_seats(to_be_substituted(model, state), messages.SubstituteNow)
        case MenuPage.SPECTATORS:
            for each in state.watching:
                yield MenuLine(
                    tables.spectator_name(each.number, each.name), messages.Dismiss(NEW, each.number)
                )
        case MenuPage.SIGNS:
            yield from (MenuLine(_(words), messages.Say(NEW, sign)) for sign, words in SIGNS.items())
        case MenuPage.MUTE:
            yield from _mutes(ui, model, state)
        case MenuPage.END:
            yield MenuLine(_("no, play on"), MenuPage.MAIN)
            yield MenuLine(_("yes: the game ends, and nobody wins"), messages.EndGame(NEW))
        case _:
            assert_never(page)


def _main(ui: Ui, model: TableModel, state: messages.TableState) -> Iterator[MenuLine]:
    host = model.seat == state.host
    running, gathering = state.stage == "playing", state.stage == "gathering"

    def may(effect: Effect) -> Effect | None:
        return effect if host else None

    named = _("name of the table: {title}").format(title=state.title or _("(no name)"))
    yield MenuLine(named, may(TypedLine(LinePrompt.TITLE).filled(state.title)))
    for row in tables.ROWS:
        on = row.is_on(state.switches)
        yield MenuLine(row.describe(on=on), may(ChangeSetting(NEW, row.kind(on=not on))))
    if state.stage != "over":
        yield MenuLine(tables.describe_policy(state.policy), may(MenuPage.ABSENCE))
        if letter_seconds(state.policy):
            words = _("holiday of each player: {days}").format(days=tables.describe_holidays(state.holidays))
            yield MenuLine(words, may(TypedLine().filled("holidays ")))
    if gathering:
        yield MenuLine(
            tables.describe_starting(state.starting, tables.names_of(state, 0)), may(MenuPage.STARTING)
        )
    if gathering and model.seat is not None:
        ready = state.seats[model.seat].ready
        words = _("say that you are not ready") if ready else _("say that you are ready")
        yield MenuLine(words, messages.SayReady(NEW, not ready))
        if free_seats(state):
            yield MenuLine(_("move to another seat"), MenuPage.SEAT)
        yield MenuLine(_("choose your people"), MenuPage.PEOPLE)
    yield from _wishes(model, state)
    yield MenuLine(_("give a sign to everybody"), MenuPage.SIGNS)
    if state.watching or speakers(model, state):
        yield MenuLine(_("mute or unmute"), MenuPage.MUTE)
    if ui.capabilities.notices and model.seat is not None and state.stage != "over":
        yield _of_notices(model.notices, ui.capabilities.notices)
    frees = _("remove a player") if gathering else _("free the seat of a player who is away")
    of_host: tuple[tuple[object, str, Effect], ...] = (
        (gathering and ui.capabilities.levels and free_seats(state), _("seat a bot"), MenuPage.BOT),
        (gathering, _("swap two seats"), MenuPage.SWAP),
        (gathering, _("shuffle the seats"), messages.Arrange(NEW, None)),
        (running and to_be_substituted(model, state), _(SUBSTITUTE), MenuPage.SUBSTITUTE),
        (removable(model, state), frees, MenuPage.REMOVE),
        (state.watching, _("remove a spectator"), MenuPage.SPECTATORS),
        (_heirs(model, state), _(HAND_OVER), MenuPage.HAND_OVER),
        (running, _(END), MenuPage.END),
    )
    yield from (MenuLine(words, effect) for possible, words, effect in of_host if host and possible)


NOTIFY: Final = TypedLine().filled("notify ")
PAUSE_UNTIL: Final = TypedLine().filled("pause until ")
# What can be asked for: to ask for it, to agree, to take either back.
_WISHES: Final[Mapping[messages.Wish, tuple[str, str, str]]] = {
    "pause": (N_("ask for a pause"), N_("agree to a pause"), N_("pause no longer needed")),
    "take-back": (
        N_("ask to take your last move back"),
        N_("agree that a move is taken back"),
        N_("no move need be taken back"),
    ),
    "more-time": (N_("ask for more time"), N_("agree to more time"), N_("no more time needed")),
}


def _wishes(model: TableModel, state: messages.TableState) -> Iterator[MenuLine]:
    """Yield what the player can ask the others for, or answer, and their own holidays."""
    for what in _WISHES:
        if (request := request_for(model, what)) is not None:
            yield MenuLine(_describe_request(state, what, on=request.on), request)
            if what == "pause" and state.paused is None and open_request(state) is None:
                yield MenuLine(
                    _("ask for a pause until a day and hour"),
                    PAUSE_UNTIL,
                    about=_("Type it like this: {example}").format(example="pause until friday 20:00"),
                )
    if (holiday := holiday_request(model)) is not None and model.seat is not None:
        days = tables.describe_holidays(state.seats[model.seat].holidays)
        form = _("take a holiday ({days}): your clock stands until you move or end it")
        yield MenuLine(form.format(days=days) if holiday.on else _("end your holiday"), holiday)
    yes, no = (request_to_answer(model, on=on) for on in (True, False))
    if yes is not None and no is not None:
        yield MenuLine(_("say no to what a player asks for"), no)


def _describe_request(state: messages.TableState, what: messages.Wish, *, on: bool) -> str:
    if what == "pause" and state.paused is not None:
        return _("end the pause")
    ask, agree, no_longer = _WISHES[what]
    asked = open_request(state)
    words = no_longer if not on else ask if asked is None or asked.what != what else agree
    return _(words)


def _of_notices(notices: messages.Notices, kinds: Sequence[messages.NoticeKind]) -> MenuLine:
    """Return what the player can do about being called: leave an address, confirm it, or remove it."""
    if notices.state == "confirmed":
        words = _("no more notices to your URL while you are away")
        if notices.kind == "mail":
            words = _("no more e-mail while you are away")
        return MenuLine(words, messages.CallMe(NEW))
    if notices.state == "unconfirmed":
        return MenuLine(_("type the code that was sent to your address"), NOTIFY)
    about = _("Type {what} after notify. A code comes there, to confirm it.")
    return MenuLine(_(CALLED), NOTIFY, about=about.format(what=describe_addresses(kinds)))


CALLED: Final = N_("be called when it is your turn and you are away")


def describe_addresses(kinds: Sequence[messages.NoticeKind]) -> str:
    """Return what a player can leave to be called."""
    return " / ".join(_(tables.NOTICES_GO_TO[kind]) for kind in kinds)


def free_seats(state: messages.TableState) -> list[int]:
    return [seat for seat, each in enumerate(state.seats) if each.name is None]


def choosers(state: messages.TableState) -> dict[People, int]:
    """Return the seats whose players have chosen their peoples, by these."""
    return {People(each.people): seat for seat, each in enumerate(state.seats) if each.chosen and each.people}


def line_of_own_people(state: messages.TableState, seat: int) -> int:
    """Return which line of the page of peoples is about the one that the seat has."""
    return next((at for at, people in enumerate(People) if people == state.seats[seat].people), 0)


def _peoples(model: TableModel, state: messages.TableState) -> Iterator[MenuLine]:
    chosen = choosers(state)
    for people in People:
        name, request = _(PEOPLES[people]), messages.ChoosePeople(NEW, people)
        if (seat := chosen.get(people)) is None:
            yield MenuLine(name, request, people)
        elif seat == model.seat:
            yield MenuLine(_("{people}: your choice").format(people=name), request, people)
        else:
            words = _("{people}: chosen by {name}").format(people=name, name=tables.names_of(state, 0)[seat])
            yield MenuLine(words, people=people)
    yield MenuLine(_("whichever is left"), messages.ChoosePeople(NEW, None))


def _others(
    model: TableModel, state: messages.TableState, fits: Callable[[messages.SeatSummary], bool]
) -> list[int]:
    """Return the seats of the other players who fit."""
    seats = enumerate(state.seats)
    return [seat for seat, each in seats if seat != model.seat and each.name is not None and fits(each)]


def speakers(model: TableModel, state: messages.TableState) -> list[int]:
    """Return the seats of the other players who could say something: the server's bots never do."""
    return _others(model, state, lambda each: each.level is None)


def _mutes(ui: Ui, model: TableModel, state: messages.TableState) -> Iterator[MenuLine]:
    """Yield for everybody else at the table whether the player hears them."""
    players = (state.seats[seat].name for seat in speakers(model, state))
    watching = [tables.spectator_name(each.number, each.name) for each in state.watching]
    gone = ui.talk.muted.difference(name.casefold() for name in (*tables.names_of(state, 0), *watching))
    for name in (None, *players, *watching, *sorted(gone)):
        who = _("all spectators") if name is None else name
        form = _("{name}: heard") if ui.talk.hears(name) else _("{name}: muted")
        yield MenuLine(form.format(name=who), Mute(name, on=ui.talk.hears(name)))


def swapped(seats: int, one: int, other: int) -> tuple[int, ...]:
    order = list(range(seats))
    order[one], order[other] = other, one
    return tuple(order)


def removable(model: TableModel, state: messages.TableState) -> list[int]:
    """Return the seats whose players the host can remove: before the game all others, then absent ones."""
    if state.stage == "over":
        return []
    gathering = state.stage == "gathering"
    return _others(model, state, lambda each: not each.vacant and (gathering or not each.here))


def to_be_substituted(model: TableModel, state: messages.TableState) -> list[int]:
    return _others(model, state, lambda each: not each.here and not each.bot)


def _heirs(model: TableModel, state: messages.TableState) -> list[int]:
    return _others(model, state, lambda each: each.here and each.level is None)


def _at(state: messages.TableState, seat: int) -> str:
    name = state.seats[seat].name or _("free")
    return f"{seat + 1} {name}"


def _menu_block(menu: TableMenu, pane: Pane) -> list[Line]:
    ui, model, width = pane.ui, pane.model, pane.width
    rows = [EMPTY, line(f"  {_(menu.page.value)}", "class:heading"), EMPTY]
    lines = [*choices(menu.page, ui, model)]
    about = lines[menu.chosen].about if menu.chosen < len(lines) else ""
    below = wrapped(about or _who_may(menu, model), width - 4)
    listed = []
    for at, choice in enumerate(lines):
        sign = EMPTY if choice.people is None else chips([choice.people]) + line(" ")
        if at == menu.chosen:
            said = line(padded(choice.text, width - 4 - width_of(sign)), "class:chosen")
            text = line(f"  {pane.glyphs.pointer} ", "class:chosen") + sign + said
        else:
            said = line(choice.text, "" if choice.effect is not None else "class:faint")
            text = line("    ") + sign + said
        listed.append(clickable(text, ChooseLine(at), width))
    rows += rows_around(listed, menu.chosen, pane.height - 6 - max(len(below), 1), pane.glyphs)
    if below:
        rows += [EMPTY, *(line(f"  {row}", "class:faint") for row in below)]
    return with_news(rows, pane)


def _small_menu(menu: TableMenu, pane: Pane) -> list[Line]:
    """Return the part of the menu around the line that the player is on, for a small window."""
    ui, model, width = pane.ui, pane.model, pane.width
    rows = [line(row, "class:heading") for row in wrapped(_(menu.page.value), width)]
    for at, choice in enumerate(choices(menu.page, ui, model)):
        chosen = at == menu.chosen
        style = "class:chosen" if chosen else "" if choice.effect is not None else "class:faint"
        for part, words in enumerate(wrapped(choice.text, width - 2 - MARK)):
            sign = pane.glyphs.pointer if chosen and not part else " "
            rows.append(clickable(line(padded(f"{sign} {words}", width), style), ChooseLine(at)))
        if chosen:
            about = wrapped(choice.about, width - 4)
            rows += [clickable(line(f"    {words}", "class:faint"), ChooseLine(at), width) for words in about]
    return short_list(pane, rows + paragraphs([_who_may(menu, model)], width, "class:faint"))


def _who_may(menu: TableMenu, model: TableModel) -> str:
    """Return what to tell players who are not the host; empty for the host, and on pages for everybody."""
    if menu.page is not MenuPage.MAIN or model.state is None or model.seat == model.state.host:
        return ""
    host = tables.names_of(model.state, 0)[model.state.host]
    return _("Only the host, {name}, can change the table's settings.").format(name=host)
