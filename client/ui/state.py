"""The UI state: the stack of screens, what was said, and what all screens share."""

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import ClassVar, Final, Self, TypeAlias

from msgspec import Struct, structs

from client.language import N_, _, labelled
from client.player.preferences import Explanations
from client.tables.table import HeardRemark, TableModel
from client.ui.frame import Line, ends, line
from client.ui.keys import Action, Key, spectators_keys
from client.ui.requests import FOR_WHOEVER_COMES, Errand, Join, Open, Request, WatchTable
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.signs import SIGNS, in_words
from client.ui.texts.tables import players_at, spectator_name, watching_name, while_away
from engine.events import LayTile, Place
from engine.pieces import People, Seat
from engine.view import View
from protocol.messages import Evening, LobbyRemark, NoticeKind, PersonOnline

REMARKS_KEPT: Final = 200
SEEN_SECONDS: Final = 10.0  # that a remark takes at most to be read


class Mute(Struct, frozen=True):
    """Mute or unmute the player or spectator of this name, or all spectators for None."""

    name: str | None
    on: bool = True


class Remark(Struct, frozen=True):
    """A chat message; `people` has the speaker's colour, once the game has given it.

    Its `number` identifies it when it is sent again. If it invites to a `table`, it says so.
    """

    speaker: str
    text: str
    people: People | None = None
    number: int | None = None
    table: str | None = None


class Sign(Struct, frozen=True):
    """A sign just given by a player, or by the `spectator` of this name.

    It is shown at their seat, or for their name, `until` a time of a monotonic clock.
    """

    seat: Seat | None
    text: str
    until: float
    spectator: str = ""


@dataclass(frozen=True, slots=True)
class TalkLog:
    """The chat of the table with this code, or of the lobby, oldest first.

    The last `unread` remarks have not been read; `echoed` if the last one is the player's own. The last one
    was `heard_at` a time of a monotonic clock; once it was `seen`, it makes room for the log. Remarks by
    people `muted` by name, and with `no_spectators` those by any spectator, are not kept.
    """

    table: str | None = None
    remarks: tuple[Remark, ...] = ()
    unread: int = 0
    echoed: bool = False
    heard_at: float = 0.0
    seen: bool = False
    muted: frozenset[str] = frozenset()
    no_spectators: bool = False

    @property
    def is_new(self) -> bool:
        return self.unread > 0 and not self.seen

    def after_key(self, now: float) -> "TalkLog":
        """Return the chat after a key at a page that shows it: who is there has had the time to see it."""
        seen = self.seen or (self.unread > 0 and now >= self.heard_at + SEEN_SECONDS)
        return replace(self, echoed=False, seen=seen) if self.echoed or seen != self.seen else self

    def hears(self, name: str | None) -> bool:
        """Return whether the player hears this name, or spectators in general for None."""
        return not self.no_spectators if name is None else name.casefold() not in self.muted

    def after(self, mute: Mute) -> "TalkLog":
        if mute.name is None:
            return replace(self, no_spectators=mute.on)
        name = {mute.name.casefold()}
        return replace(self, muted=self.muted | name if mute.on else self.muted - name)


def is_sign(said: HeardRemark) -> bool:
    """Return whether a remark is a sign that has just been given."""
    return said.text in SIGNS and not said.again


def is_at_seat(said: HeardRemark) -> bool:
    """Return whether a remark is seen at a player's seat: it is no news above the log."""
    return said.seat is not None and is_sign(said)


def with_remark(talk: TalkLog, said: HeardRemark, model: TableModel, name: str, *, read: bool) -> TalkLog:
    """Return `talk` with a new remark; the player `name` need not read their own."""
    people = None
    if said.seat is None:
        called = spectator_name(said.number, said.spectator)
        speaker = watching_name(called, said.spectator)
    else:
        seated = players_at(model)[said.seat]
        called = speaker = said.player or seated
        if model.view is not None and called == seated:  # and did not sit elsewhere then
            people = model.view.start.peoples[said.seat][0]
    known = said.again and any(each.number == said.remark for each in talk.remarks)
    if known or not talk.hears(called) or (said.seat is None and not talk.hears(None)):
        return talk
    own = said.seat == model.seat if said.seat is not None else model.seat is None and said.spectator == name
    at_seat = is_at_seat(said)
    unread = 0 if read or own else talk.unread + (not at_seat)
    remark = Remark(while_away(speaker) if said.missed else speaker, in_words(said.text), people, said.remark)
    remarks = (*talk.remarks, remark)[-REMARKS_KEPT:]
    return replace(
        talk, remarks=remarks, unread=min(unread, REMARKS_KEPT), echoed=own and not said.again and not at_seat
    )


def with_lobby_remarks(talk: TalkLog, said: Iterable[LobbyRemark], name: str, *, read: bool) -> TalkLog:
    """Return `talk` with remarks from the lobby; the player `name` need not read their own."""
    known, heard = (
        {remark.number for remark in talk.remarks},
        [each for each in said if talk.hears(each.name)],
    )
    again = {each.number for each in heard}  # in their order, which has what no table hears
    remarks = (*(each for each in talk.remarks if each.number not in again), *map(_lobby_remark, heard))
    unread = (
        0 if read else talk.unread + sum(each.number not in known and each.name != name for each in heard)
    )
    return replace(talk, remarks=remarks[-REMARKS_KEPT:], unread=min(unread, REMARKS_KEPT))


def with_overheard(talk: TalkLog, said: Iterable[LobbyRemark], lobby: TalkLog, *, read: bool) -> TalkLog:
    """Return a table's `talk` with what was said in the lobby, whose talk so far is `lobby`.

    Whom the player has muted in either place is not heard.
    """
    known = {remark.number for remark in lobby.remarks}
    new = [
        Remark(_("{name} (in the lobby)").format(name=each.name), in_words(each.text), number=each.number)
        for each in said
        if each.number not in known and talk.hears(each.name) and lobby.hears(each.name)
    ]
    unread = 0 if read else min(talk.unread + len(new), REMARKS_KEPT)
    return replace(talk, remarks=(*talk.remarks, *new)[-REMARKS_KEPT:], unread=unread)


def _lobby_remark(said: LobbyRemark) -> Remark:
    if said.said_at is not None:
        speaker = _("{name} (at {table})").format(name=said.name, table=said.said_at)
        return Remark(speaker, in_words(said.text), number=said.number)
    if said.table is None:
        return Remark(said.name, in_words(said.text), number=said.number)
    text = _("Come to table {table}.").format(table=said.table)
    return Remark(said.name, text, number=said.number, table=said.table)


LOG_KEPT: Final = 500
ANNOUNCEMENTS_KEPT: Final = 3  # as many of the longest fit on the smallest screen

Outcome: TypeAlias = tuple["Ui", Request | None]


class ListLine(Struct, frozen=True):
    """A line of a list to choose from: its text, a value in a column of its own, and what it is about.

    What it is about is said while the player is on the line.
    """

    text: str
    value: str = ""
    about: str = ""
    style: str = ""
    people: People | None = None

    @property
    def words(self) -> str:
        return labelled(self.text, self.value) if self.value else self.text

    @property
    def spoken(self) -> str:
        """Return the line as it is read aloud."""
        if not self.about:
            return self.words
        return f"{self.words}. {self.about}" if self.value else labelled(self.text, self.about)


class Choices(Struct, frozen=True):
    """The lines of a list, and the number of the one that the player is on."""

    lines: Sequence[ListLine]
    chosen: int


class Screen:
    """A screen is a value: its own data, with what keys do on it and how it is drawn.

    A screen `at_server` follows the server's table. `reads_on` if a key shows in full what ends in dots;
    `asks_to_quit` if leaving it ends the program where there is no page below, `leads_back` if quitting leads
    to that page. The `log_style` is that of what the log says there; a screen `after_end` shows nothing of it
    that was before all pieces were placed.
    """

    __slots__ = ()
    at_server: ClassVar[bool] = False
    reads_on: ClassVar[bool] = False
    asks_to_quit: ClassVar[bool] = False
    leads_back: ClassVar[bool] = False
    log_style: ClassVar[str] = ""
    after_end: ClassVar[bool] = False
    own_keys: ClassVar[tuple[Key, ...]] = ()

    @property
    def own_log(self) -> tuple[str, ...] | None:
        """Return the screen's own log; None if it shows the log of the state."""
        return None

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        """Return the keys that do something there."""
        return self.own_keys

    def shown_keys(self, model: TableModel) -> tuple[Key, ...]:
        """Return the keys that help and function bar show: spectators have others at a table."""
        watching = self.at_server and model.table is not None and model.seat is None
        return tuple(spectators_keys(self.keys(model))) if watching else self.keys(model)

    def offered_keys(self, ui: "Ui", model: TableModel) -> tuple[Key, ...]:
        """Return the keys of these that have an effect now."""
        return tuple(key for key in self.shown_keys(model) if key.when(self, ui, model))

    def act(self, ui: "Ui", action: Action, model: TableModel) -> Outcome:
        """Return the state after a key or a click, and the request to the program or the server."""
        return ui, None

    def stage(self, model: TableModel) -> str:
        """Return how far the game is, in a few words; empty if there is no game."""
        return ""

    def place(self, pane: "Pane") -> str:
        """Return the title of a small window."""
        raise NotImplementedError

    def title(self, pane: "Pane") -> Line:
        """Return the title: where the player is, and who they are."""
        left = line(f" Palatinus {pane.glyphs.dot} {self.place(pane)}", "class:title")
        return ends(left, line(f"  {pane.ui.name} ", "class:title"), pane.width, "class:title")

    def block(self, pane: "Pane") -> tuple[list[Line], int]:
        """Return everything between title and function bar, and how far it can be scrolled."""
        raise NotImplementedError

    def words(self, ui: "Ui", model: TableModel) -> Sequence[str]:
        """Return the screen in words, for a player who does not see it; the log is not included."""
        return ()

    def choices(self, ui: "Ui", model: TableModel) -> Choices | None:
        """Return what there is to choose from; None if the screen is no list."""
        return None

    @property
    def game(self) -> "Screen | None":
        """Return the part of the screen that is about a game, if there is one."""
        return None

    def with_game(self, game: "Screen") -> "Screen":
        """Return the screen with this part about its game."""
        return game


class Overlay(Screen):
    """An overlay, which replaces everything on a screen except the title and the function bar."""

    __slots__ = ()

    def question(self, ui: "Ui") -> str:
        """Return the question below the screen if nothing else is shown there, otherwise an empty string."""
        return ""


@dataclass(frozen=True, slots=True)
class GamePage(Screen):
    """A page about a game, outside any server: `table` is the game as a table would show it.

    Of the commands of a table, it has those with the verbs in `commands`.
    """

    table: Screen = field(kw_only=True)
    commands: ClassVar[frozenset[str]] = frozenset()
    reads_on = True

    def stage(self, model: TableModel) -> str:
        return self.table.stage(model)

    def block(self, pane: "Pane") -> tuple[list[Line], int]:
        return self.table.block(pane)

    @property
    def game(self) -> Screen:
        return self.table

    def with_game(self, game: Screen) -> Screen:
        return replace(self, table=game)


class Nowhere(Screen):
    """Before it is known where the player is at the server."""

    __slots__ = ()
    at_server = True


_NOWHERE: Final = Nowhere()
_LONG_AGO: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local time


class LinePrompt(enum.Enum):
    """The prompts before a typed line."""

    COMMAND = ":"
    SAY = N_("say:")
    SAY_ALOUD = N_("say, to the lobby too:")
    SAY_IN_LOBBY = N_("say in the lobby:")
    NAME = N_("your name:")
    TITLE = N_("name of the table:")
    EVENING = N_("name of the evening:")
    ADDRESS = N_("address, name or code:")
    PASSWORD = N_("password:")


@dataclass(frozen=True, slots=True)
class TypedLine:
    """A line being typed. `at` is the cursor, `back` counts the steps back in the history."""

    prompt: LinePrompt = LinePrompt.COMMAND
    text: str = ""
    at: int = 0
    back: int = 0

    @property
    def command(self) -> bool:
        return self.prompt is LinePrompt.COMMAND

    @property
    def parts(self) -> tuple[str, str]:
        """Return the texts before and after the cursor."""
        return self.text[: self.at], self.text[self.at :]

    def filled(self, before: str, after: str = "") -> Self:
        """Return the line with these texts before and after the cursor."""
        return replace(self, text=before + after, at=len(before))

    def recalled(self, typed: tuple[str, ...], by: int) -> Self:
        """Return the line typed `by` lines further back, an empty one after the last."""
        back = min(max(self.back + by, 0), len(typed))
        return replace(self, back=back).filled(typed[-back] if back else "")


class Notice(Struct, frozen=True):
    """What is to be read now; `keys` says what keys do about it, on a screen alone."""

    text: str
    refusal: bool = False
    keys: str = ""

    @property
    def on_screen(self) -> str:
        return f"{self.text} {self.keys}".rstrip()


class Outage(Struct, frozen=True):
    """The reason for a lost connection, and the time of the next attempt, None without one."""

    reason: str
    until: float | None


@dataclass(frozen=True, slots=True)
class OnlineList:
    """The people online, as far as the list has room, and how many more there are.

    `fault` says why the player cannot be listed under this name.
    """

    people: tuple[PersonOnline, ...] = ()
    more: int = 0
    fault: str = ""


class Ways(Struct, frozen=True):
    """The ways to the server for others."""

    addresses: tuple[str, ...] = ()  # that others join with
    other_ways: tuple[str, ...] = ()  # what others type or open instead
    way_in: str = ""  # the command that others type, if it is a single one
    found_as: str = ""  # the name under which others find the server, if they do
    pages: str = ""  # where browsers find the server, if they do


class Offers(Struct, frozen=True):
    """What the server offers: lobby, notifications, levels of bots and the like.

    A `private` one is in the player's own program: nobody else can come, and bots take all other seats.
    """

    levels: tuple[str, ...] = ()  # of the bots that it seats, the best last
    notices: tuple[NoticeKind, ...] = ()  # the kinds of addresses where it calls players who are away
    lobby: bool = False  # people can talk in its lobby
    invitations: bool = False  # those at a table can invite people there
    private: bool = False
    takes_back: bool = False  # the player's moves, as often as they like


class FinishedGames(Struct, frozen=True):
    """What becomes of finished games beside being looked back at."""

    listed: bool = False  # in a list to which the lobby leads
    judged: bool = False
    saved: bool = False  # in files


_WAYS: Final = Ways()
_OFFERS: Final = Offers()


@dataclass(frozen=True, slots=True)
class Ui:
    """The UI state: a value; whatever happens makes another one of it.

    `screens` is the stack of screens: the first page, what is open over it, perhaps another page, such as the
    record of its game, and what is open over that. The player sees the last one.

    `talk` is that of the table, or of the lobby in the lobby; `lobby_talk` is what was said in the lobby
    before the player went to a table. `signs` are those given in the last seconds, the latest last, one of
    each person. `company` is who is online, None as long as that is not known; so is `evening`, in which the
    player is `person` once they have signed up.

    `new_table` is how the player would open a table. `entry` is the line being typed, `sent` the one whose
    request waits for its answer, `retry` what is asked again under the name being typed, `typed` are those
    before. `busy` if a request waits for its answer, `ponders` while a hint is worked out. `scroll` is how
    many lines of the log are below those shown. With `confirms` moves have to be confirmed: `asked` is the
    one that waits for that. A game says what is new in it while it `explains` that; without a value, no game
    ever does. Without `finished_games`, none is looked back at. `ticks_left` is how long a walk that goes on
    by itself stays at its step, `speed` how fast it goes, from 0. `today` is the local time of the last key
    or click. `now` is the time of a monotonic clock; `told_at` is when the last state of the table came,
    `asked_at` when a request or a vote began last, `clock_at` when the clock of the seat to move did,
    `stops_at` when the server is going to stop, if it is. `last_top` is how far the text on the screen could
    be scrolled at the last key or click. `since_end` is how many lines the log has got since all pieces are
    placed.
    """

    name: str
    address: str = ""
    ways: Ways = _WAYS
    offers: Offers = _OFFERS
    finished_games: FinishedGames | None = None
    screens: tuple[Screen, ...] = (_NOWHERE,)
    new_table: Open = FOR_WHOEVER_COMES
    entry: TypedLine | None = None
    sent: TypedLine | None = None
    retry: Open | Join | WatchTable | None = None
    typed: tuple[str, ...] = ()
    notice: Notice | None = None
    lost: Outage | None = None
    log: tuple[str, ...] = ()
    scroll: int = 0
    talk: TalkLog = TalkLog()
    lobby_talk: TalkLog = TalkLog()
    signs: tuple[Sign, ...] = ()
    company: OnlineList | None = None
    evening: Evening | None = None
    person: int | None = None
    confirms: bool = False
    explains: Explanations | None = None
    asked: LayTile | Place | None = None
    busy: bool = False
    ponders: bool = False
    ticks_left: int | None = None
    speed: int = 0
    now: float = 0.0
    today: datetime = _LONG_AGO
    told_at: float = 0.0
    asked_at: float = -math.inf
    clock_at: float = 0.0
    stops_at: float | None = None
    last_top: int = 0
    since_end: int = 0

    @property
    def top(self) -> Screen:
        """Return the screen that the player sees: the overlay opened last, or the page."""
        return self.screens[-1]

    @property
    def pages(self) -> tuple[Screen, ...]:
        """Return the screens that are not open over another one: a later page covers the first."""
        return tuple(each for each in self.screens if not isinstance(each, Overlay))

    @property
    def page(self) -> Screen:
        """Return the last of the pages."""
        return next(each for each in reversed(self.screens) if not isinstance(each, Overlay))

    @property
    def overlays(self) -> tuple[Overlay, ...]:
        """Return the screens that are open over the page."""
        over = takewhile(lambda each: isinstance(each, Overlay), reversed(self.screens))
        return tuple(each for each in over if isinstance(each, Overlay))[::-1]

    @property
    def overlay(self) -> Overlay | None:
        return self.top if isinstance(self.top, Overlay) else None

    @property
    def guests(self) -> tuple[PersonOnline, ...]:
        """Return the others who are in the server's lobby."""
        people = () if self.company is None else self.company.people
        return tuple(each for each in people if each.at == "lobby" and each.name != self.name)

    @property
    def log_here(self) -> tuple[str, ...]:
        """Return the log of the page, oldest first."""
        own = self.page.own_log
        return self.log if own is None else own

    def with_page(self, page: Screen) -> Self:
        """Return the state with the page replaced, and the screens over it unchanged."""
        return replace(self, screens=(*self._below_page, page, *self.overlays))

    def with_page_above(self, page: Screen) -> Self:
        """Return the state with another page on top, and the screens open over it."""
        above = replace(self, screens=(*self.screens, page), scroll=0)
        return replace(above, entry=None, notice=None, ticks_left=None, busy=False, ponders=False)

    def above(self, below: Self) -> Self:
        """Return the state with its screens above those of another one."""
        return replace(self, screens=(*below.screens, *self.screens))

    def in_place_of(self, ui: Self) -> Self:
        """Return the state with its screens in the place of the last page of another one."""
        return replace(self, screens=(*ui._below_page, *self.screens))

    def without_page(self) -> Self:
        """Return the state without the page on top."""
        return replace(self, screens=self._below_page, entry=None, ticks_left=None)

    @property
    def way_back(self) -> Request:
        """Return the request that leads to the page below; without one, out of the program."""
        return Errand.GO_HOME if len(self.pages) > 1 else Errand.QUIT

    @property
    def _below_page(self) -> tuple[Screen, ...]:
        return self.screens[: len(self.screens) - len(self.overlays) - 1]

    def down_to(self, page: int) -> Self:
        """Return the state as the page with this number has it: what is typed and said is about the last."""
        screens = self._down_to(page)
        if len(screens) == len(self.screens):
            return self
        return replace(self, screens=screens, entry=None, notice=None, ticks_left=None)

    def with_down_to(self, page: int, below: Self) -> Self:
        """Return the state with another one of the page with this number, covered as before."""
        above = self.screens[len(self._down_to(page)) :]
        if not above:
            return below
        notice = below.notice or self.notice
        screens = (*below.screens, *above)
        return replace(below, screens=screens, entry=self.entry, notice=notice, ticks_left=self.ticks_left)

    def _down_to(self, page: int) -> tuple[Screen, ...]:
        """Return the pages down to the one with this number, from 0, and what is open there."""
        starts = [at for at, each in enumerate(self.screens) if not isinstance(each, Overlay)]
        return self.screens[: starts[page + 1]] if page + 1 < len(starts) else self.screens

    def opened(self, overlay: Overlay) -> Self:
        return replace(self, screens=(*self.screens, overlay))

    def closed(self) -> Self:
        """Return the state without the overlay that was opened last."""
        return self if self.overlay is None else replace(self, screens=self.screens[:-1])

    def changed(self, overlay: Overlay) -> Self:
        """Return the state with this overlay in the place of the one opened last."""
        return self.closed().opened(overlay)

    def without(self, *kinds: type[Overlay]) -> Self:
        """Return the state without overlays of these kinds, without any if none is named."""
        kept = (each for each in self.overlays if kinds and not isinstance(each, kinds))
        return replace(self, screens=(*self._below_page, self.page, *kept))

    def with_only(self, *kinds: type[Overlay]) -> Self:
        kept = (each for each in self.overlays if isinstance(each, kinds))
        return replace(self, screens=(*self._below_page, self.page, *kept))

    def with_notice(self, text: str, *, refusal: bool = False) -> Self:
        """Return the state with a notice to the player."""
        return replace(self, notice=Notice(text, refusal))


class Pane(Struct, frozen=True):
    """Everything from which a screen is drawn: the state and the size of a perhaps `small` window."""

    ui: Ui
    model: TableModel
    glyphs: GlyphSet
    width: int
    height: int
    small: bool = False

    @property
    def view(self) -> View:
        """Return the game: only screens that show one ask for it."""
        assert self.model.view is not None  # noqa: S101 - they are not shown before it is known
        return self.model.view

    def sized(self, width: int, height: int) -> "Pane":
        return structs.replace(self, width=width, height=height)


SIGN_SECONDS: Final = 5.0


def with_sign(ui: Ui, said: HeardRemark) -> Ui:
    """Return `ui` with a sign at a player's seat, or for a spectator, if `said` is one."""
    if not is_sign(said):
        return ui
    spectator = "" if said.seat is not None else spectator_name(said.number, said.spectator)
    others = (each for each in ui.signs if (each.seat, each.spectator) != (said.seat, spectator))
    return replace(ui, signs=(*others, Sign(said.seat, said.text, ui.now + SIGN_SECONDS, spectator)))


def closed_for_good(ui: Ui) -> bool:
    return ui.lost is not None and ui.lost.until is None


def hints_allowed(model: TableModel) -> bool:
    """Return whether the players at the table may have moves suggested."""
    return model.state is not None and model.state.switches.hints


def with_game(ui: Ui, game: Screen) -> Ui:
    return ui.with_page(ui.page.with_game(game))
