"""The pages of a server, whole or in parts, in the reader's language."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final
from urllib.parse import urlsplit

import msgspec
from markupsafe import Markup

from client.language import LANGUAGES, OWN_NAME, _, counted, language_among, speaking
from client.network.refusals import describe_refusal
from client.player.terminal import Colours
from client.tables.draws import Doubt, describe_fault
from client.tables.table import safe_to_show
from client.ui.export.picture import BOARD_STYLE
from client.ui.terminal.painter import PEOPLE_COLOURS
from client.ui.texts.signs import SIGNS
from client.ui.texts.tables import (
    WHEN_OPENED,
    describe_layout,
    describe_listed_stage,
    describe_news,
    describe_seats,
    describe_unusual,
    names_of,
)
from engine.events import SeenEvent
from engine.fairness import Mismatch
from engine.pieces import Seat
from engine.view import View
from pages.drawing.evening_parts import call
from pages.drawing.host_parts import hosted
from pages.drawing.html import (
    EMPTY,
    draw_qr_code,
    element,
    join,
    qr_code,
    script,
    style,
    template,
    with_attributes,
)
from pages.drawing.rules_sheet import rules_sheet, sheet
from pages.drawing.seat_parts import invitation, sign_button, to_copy
from pages.drawing.table_parts import PARTS, empty_board, seconds_of_scoring, table_parts, way_in
from pages.drawing.tv_parts import SMALL, between_games, scene_of, sized, small_table, strip_of
from pages.serving.site import Site
from pages.shared import NoPage, OnTelevision, PlayerHand, SeatLater
from protocol.admin import VERSION, Envelope, FailureReport, ShowEvening
from protocol.codes import sentence
from protocol.limits import CHAT_LENGTH, CODE_LENGTH, NAME_LENGTH, PRIVATE_CODE_LENGTH
from protocol.messages import Evening, News, PersonNumber, Refused, TableState, TableSummary
from protocol.pages import EVENING, EveningShown
from protocol.settings import USUAL
from protocol.text import printable
from server.parts import Running

_MOST_TABLES: Final = 60  # in the list, so that it stays small on its way to a hundred phones
_LEAST_SECONDS: Final = 2.0  # for a step of the scoring
_WAYS_IN: Final = ("way-in", "watching", "play")  # which a television has in a code
_SCRIPT: Final = script("line", "motion", "parts", "watching", "links")
_PLAYER_SCRIPT: Final = script("session", "seat", "draws", "talk", "calls", "touch", "keys", "play")
_HOST_SCRIPT: Final = script("host")
_PEOPLES: Final = "".join(
    f".people-{people.value}, #called.people-{people.value} "
    f"{{ background: {pair.background}; color: {pair.foreground}; }}\n"
    for people, pair in PEOPLE_COLOURS[Colours.TRUE].items()
)
_STYLE: Final = style(BOARD_STYLE + template("page.css") + _PEOPLES)
_TYPED_CODE: Final = f" *[A-Za-z]{{{CODE_LENGTH},{PRIVATE_CODE_LENGTH}}} *"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class WebPages:
    """How pages are drawn; `characters_per_second` is how fast the scoring's sentences can be read.

    `ssh_port` is where guests play over ssh, None if they cannot; people play in browsers if it `plays`.
    """

    # A page runs these scripts and uses this stylesheet; whatever else a name could smuggle in does nothing.
    security_policy: Final = (
        f"default-src 'none'; script-src {_hash(_SCRIPT)} {_hash(_PLAYER_SCRIPT)} {_hash(_HOST_SCRIPT)}; "
        f"style-src {_hash(_STYLE)}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def __init__(
        self, characters_per_second: float = 20.0, *, ssh_port: int | None = None, plays: bool = True
    ) -> None:
        self._speed = characters_per_second
        self._ssh_port = ssh_port
        self._plays = plays

    def open(self, server: Running) -> Site:
        return Site(server, self)

    @property
    def plays(self) -> bool:
        return self._plays

    def language(self, wanted: Iterable[str]) -> str:
        """Return the language for a reader who wants these, the best first."""
        return language_among(wanted)

    def front(
        self, language: str, address: str, tables: Mapping[str, str] | None, *, evening: bool = False
    ) -> str:
        """Return the page at `address`; `tables` is None if a password is needed to see them."""
        with speaking(language):
            text = _("This server needs a password. Its tables can be seen with the command below.")
            listing = element("p", text)
            if tables is not None:
                listing = element("div", Markup(tables["tables"]), id="tables")  # noqa: S704 - from `tables` below
            listing = element("section", element("h2", _("Tables")), listing)
            lead = element("p", _("The board game of the seven hills of Rome, for two to five players."))
            code = _field(_("Code of a table"), "code", pattern=_TYPED_CODE, autocomplete="off")
            play = element("button", _("Play in this browser"), class_="main")
            opens = element("p", element("a", _("Open a table"), href="play/", class_="main"))
            find = join(element("form", code, play, id="find"), opens) if self._plays else EMPTY
            if evening and self._plays:
                way = element("a", _("Take part in the evening"), href=f"play/{EVENING}", class_="main")
                lead = join(lead, element("p", way))
            seats = element("section", element("h2", _("Your seats")), element("ul"), id="seats", hidden="")
            hosts = element("p", element("a", _("Host of the evening"), href="host"), id="hosts", hidden="")
            content = join(lead, seats, hosts, listing, find, self._how_to_join(address))
            if tables is not None:
                content += element("p", element("a", _("On a television"), href="tv"))
            live = {} if tables is None else {"data_live": "watch"}
            return _page(language, "Palatinus", content, live, "./", refreshed=True, bar=rules_sheet())

    def watch(self, language: str, address: str, code: str) -> str:
        """Return the page of a table; the table itself comes later, in parts."""
        with speaking(language):
            title = _("Table {code}").format(code=code)
            needed = _("To watch, switch on JavaScript, or run the command at the end of this page.")
            back = Markup('<p id="play"></p><a href="../play/{}" id="back" class="main" hidden="">{}</a>')
            content = join(
                element("noscript", element("p", needed)),
                _table_content(back.format(code, _("Back to your seat")), EMPTY),
                self._how_to_join(address, code),
            )
            live = {"data_live": code, "class_": "blank"}
            return _page(language, title, content, live, "../", bar=rules_sheet())

    def play(self, language: str, code: str, *, locked: bool) -> str:
        """Return the page of a seat, which asks for a name first, unless the browser has the seat already."""
        with speaking(language):
            fields = [_field(_("Your name"), "name", maxlength=str(NAME_LENGTH), autocomplete="nickname")]
            if locked:
                fields.append(_field(_("The server's password"), "password", type="password"))
            title, takes = _("Table {code}").format(code=code), _("Take a seat")
            question = _(
                "This link opens a seat at table {code}. Take it if it is yours, or if somebody you know "
                "has given it to you. Any other device that has the seat loses it."
            ).format(code=code)
            answers = _("Take this seat"), _("Join as a new player")
            if code == EVENING:
                title, takes = _("The evening"), _("Sign up")
                question = _(
                    "This link makes you somebody who has signed up for the evening. Continue if that is "
                    "you, or if the host has given it to you. Any other device of that person is signed out."
                )
                answers = _("Continue as this person"), _("Sign up as somebody new")
            if not code:
                title = takes = _("Open a table")
                fields += _new_table()
            fields.append(_checkbox("sound", _("ring when it is my turn, or when I am called"), checked=""))
            signs = (sign_button(sign, _(words)) for sign, words in SIGNS.items())
            chat = template("chat.html").format(
                chat=_("Chat"),
                sign=_("A sign for everybody"),
                signs=join(*signs),
                most=CHAT_LENGTH,
                say=_("Say"),
            )
            content = template("play.html").format(
                needed=_("To play, switch on JavaScript."),
                fields=join(*fields),
                takes=takes,
                question=question,
                take=answers[0],
                decline=answers[1],
                elsewhere=_("Continue on another device"),
                table=_table_content(_MOVE, chat),
            )
            texts = {
                "class_": "blank",
                "data_play": code,
                "data_turn": _("Your turn"),
                "data_spectator": _("a spectator"),
                "data_came": _("{name} has come to the lobby."),
                "data_aloud": _("The lobby hears this, too."),
                "data_overheard": _("{name} (in the lobby)"),
                "data_again": _("{name} wants to play again."),
                "data_server": _("The server"),
                "data_missed": _("Missed: {news}"),
                "data_taken": _("This seat is in use in another window or on another device."),
                "data_moves": _("The table is now at {address}. Go there?"),
                "data_table": _("Table {code}"),
                "data_commitment": describe_fault(Doubt.COMMITMENT),
                "data_share": describe_fault(Doubt.SHARE),
                "data_seed": describe_fault(Mismatch.SEED),
            }
            menu = sheet(_("The table"), EMPTY, id="menu")
            bar = join(element("span", id="clock"), rules_sheet(), menu)
            return _page(language, title, content, texts, "../", scripts=(_SCRIPT, _PLAYER_SCRIPT), bar=bar)

    def call(self, language: str, evening: Evening, person: PersonNumber, at: str | None) -> str:
        with speaking(language):
            return str(call(evening, person, at))

    def device(self, language: str, address: str, place: str) -> str:
        with speaking(language):
            told = _(
                "Scan this code with the other device, or open the link there. Whoever has it takes your "
                "seat; it works once."
            )
            return str(_secret_link(told, f"{address}play/{place}"))

    def host(self, language: str) -> str:
        """Return the page of an evening's host; what it shows comes later, to whoever has the key."""
        with speaking(language):
            content = template("host.html").format(needed=_("To host an evening, switch on JavaScript."))
            asks = Envelope(VERSION, ShowEvening())
            live = {"data_live": "host", "data_ask": msgspec.json.encode(asks).decode()}
            scripts = (_SCRIPT, _HOST_SCRIPT)
            return _page(language, _("Host of the evening"), content, live, "./", scripts=scripts)

    def hosted(self, language: str, shown: EveningShown | None) -> dict[str, str]:
        with speaking(language):
            return {"evening": str(hosted(shown))}

    def told_host(self, language: str, address: str, error: FailureReport | None) -> dict[str, str]:
        with speaking(language):
            if error is None:
                taking_part = element("a", _("Take part in the evening"), href=f"play/{EVENING}")
                ways = join(invitation(f"{address}play/{EVENING}"), element("p", taking_part))
                television = element("p", element("a", _("On a television"), href="tv"))
                return {"refusal": "", "ways": str(join(ways if self._plays else EMPTY, television))}
            told = sentence(_(error.text), error.about)  # unless it is one that players know, too
            return {"refusal": str(join(describe_refusal(Refused(error.code, told, about=error.about))))}

    def handed_over(self, language: str, address: str, name: str, place: str) -> dict[str, str]:
        with speaking(language):
            told = _("The browser that opens this link continues as {name}. It works once:")
            return {"device": str(_secret_link(told.format(name=name), f"{address}play/{place}"))}

    def not_host(self, language: str) -> dict[str, str]:
        with speaking(language):
            told = _("This page opens with a link that the host of the evening gets with {command}.")
            command = "palatinus admin evening host"
            return {
                "refusal": str(join(told.format(command=command))),
                "evening": "",
                "device": "",
                "ways": "",
            }

    def refusal(self, language: str, refused: Refused) -> str:
        with speaking(language):
            return str(join(describe_refusal(refused)))

    def news(self, language: str, news: News) -> str:
        with speaking(language):
            return describe_news(news)

    def absent(self, language: str, home: str, why: NoPage) -> str:
        """Return the page where there is nothing to be seen; `home` leads to the front page from there."""
        with speaking(language):
            text = _nothing()
            if why is NoPage.PASSWORD:
                text = _("This server needs a password. Its tables can be watched with the terminal client.")
            elif why is NoPage.NAME:
                text = _(
                    "This server does not know the name in the address. Use its IP address instead. If it is "
                    "your server, add the option --address with this name, or behind a proxy --trust-proxy."
                )
            return _page(language, "Palatinus", element("p", text), {}, home)

    def tables(self, language: str, tables: Sequence[TableSummary]) -> dict[str, str]:
        with speaking(language):
            if not tables:
                return {"tables": str(element("p", _("No tables are open.")))}
            rows = [_table(table) for table in tables[:_MOST_TABLES]]
            if more := _more_tables(len(tables) - len(rows)):
                rows.append(element("li", element("div", more)))
            return {"tables": str(element("ul", *rows))}

    def table(
        self,
        language: str,
        state: TableState,
        view: View | None,
        events: Sequence[SeenEvent],
        step: int | None,
        *,
        hand: PlayerHand | None = None,
        within: float | None = None,
        later: SeatLater = SeatLater.NEVER,
    ) -> tuple[dict[str, str], float | None]:
        """Return the parts of a table's page, and in how many seconds the scoring's next step is due.

        `step` is how far the walk through the scoring is, None if it is over. All of it is told in brief if
        that is to take place `within` so many seconds.
        """
        with speaking(language):
            brief = within is not None
            parts, goes_on = table_parts(
                state, view, events, step, hand, plays=self._plays, brief=brief, later=later
            )
            if not goes_on:
                return parts, None
            seconds = self._seconds_for(parts["now"])
            if within is None or view is None:
                return parts, seconds
            names = names_of(safe_to_show(state), len(state.seats))
            return parts, seconds * min(1.0, within / seconds_of_scoring(view, names, self._seconds_for))

    def _seconds_for(self, sentence: str) -> float:
        return max(_LEAST_SECONDS * 20.0, len(sentence)) / self._speed

    def tv(self, language: str, address: str) -> str:
        """Return the page for a television; the tables come later, in parts."""
        typed = address.removeprefix("http://").removesuffix("/")
        with speaking(language):
            leads = _("QR code that leads to {address}").format(address=address)
            grid = element("div", *(element("div", id=part) for part in SMALL), id="small")
            content = template("tv.html").format(
                table=_table_content(EMPTY, join(element("p", id="more"), grid)),
                qr_code=qr_code(address, leads),
                join=_("Join:"),
                address=typed,
            )
            live = {"data_live": "tv", "class_": "tv between blank"}
            return _page(language, "Palatinus", content, live, "./", class_="television")

    def small(self, language: str, state: TableState, view: View, leader: Seat | None) -> str:
        with speaking(language):
            return str(small_table(state, view, leader))

    def on_tv(self, language: str, shown: OnTelevision) -> dict[str, str]:
        with speaking(language):
            parts = {part: shown.large.get(part, "") for part in PARTS if part not in _WAYS_IN}
            if parts["moves"].startswith(f"<li>{parts['now']}<"):  # the scoring's sentence is said already
                parts["moves"] = ""
            parts |= dict(zip_longest(SMALL, shown.small, fillvalue=""))
            parts["now"] = sized(parts["now"]) if parts["now"] else ""
            between = EMPTY if shown.large else between_games(shown.waiting, shown.evening)
            strip = EMPTY if shown.evening is None else strip_of(shown.evening)
            parts |= {
                "more": str(join(_more_tables(shown.more))),
                "waiting": str(between),
                "strip": str(strip),
            }
            return {"scene": scene_of(shown, scored=bool(parts["result"]))} | parts

    def nothing(self, language: str) -> dict[str, str]:
        """Return the parts of a table's page when there is nothing more to be seen."""
        with speaking(language):
            return dict.fromkeys(PARTS, "") | way_in(joins="", plays=False) | {"now": str(join(_nothing()))}

    def full(self, language: str) -> dict[str, str]:
        """Return the parts of a table's page when the table has no room for a spectator."""
        with speaking(language):
            return {"now": str(join(_("The table has as many spectators as it can have.")))}

    def _how_to_join(self, address: str, code: str = "") -> Markup:
        """Return how to play, or watch the table `code`, from a terminal, and the way to here for a phone."""
        here = f"{address}watch/{code}" if code else address
        command = " ".join(filter(None, ("palatinus join", game_address(address), code)))
        over_ssh = EMPTY
        if self._ssh_port is not None:
            text = element("p", _("Or run this one, with nothing installed:"))
            over_ssh = text + to_copy(f"ssh -p {self._ssh_port} {urlsplit(address).hostname}")
        # The parts of a table say later whether there is a seat.
        return template("join.html").format(
            way_in=Markup(' id="way-in"') if code else EMPTY,
            join=_("Join"),
            installed=_("With Palatinus installed, run this command in a terminal:"),
            command=to_copy(join(command, element("span", id="watching") if code else EMPTY)),
            over_ssh=over_ssh,
            phone=_("A phone's camera opens this page with this code:"),
            qr_code=qr_code(here, _("QR code that leads to {address}").format(address=here)),
            here=here,
        )


def _secret_link(told: str, link: str) -> Markup:
    """Return a link that holds a secret, and its code, of which nothing is kept."""
    code = draw_qr_code(link, _("QR code that leads to {address}").format(address=link.partition("#")[0]))
    return join(element("p", told), code, to_copy(link))


# What a player has below the board.
_MOVE: Final = Markup('<p id="look"></p><div id="hand"></div><div id="ask"></div>')


def _table_content(move: Markup, more: Markup) -> Markup:
    """Return where the parts of a table go, with those for the player's `move` below the board."""
    return template("table.html").format(
        board=empty_board(_("The board; it is described in words below."), touched=move is _MOVE),
        move=move,
        players=_("Players"),
        more=more,
        in_words=_("The board in words"),
    )


def _field(words: str, name: str, **attributes: str) -> Markup:
    return element("label", words, " ", element("input", name=name, required="", **attributes))


def _new_table() -> Iterator[Markup]:
    """Yield what can be chosen for a table that is opened here; its menu has the rest."""
    grows = element("option", _("a seat for all who join"), value="")
    numbers = (grows, *(element("option", str(number)) for number in range(2, 6)))
    yield element("label", _("Players"), " ", element("select", *numbers, name="players"))
    yield _checkbox("layout", describe_layout(at_random=True))
    for each in WHEN_OPENED:
        unusual = not each.is_on(USUAL)
        words = each.describe(on=unusual)
        yield _checkbox(each.name, words, value=str(unusual).lower(), class_="switch")


def _checkbox(name: str, words: str, **attributes: str) -> Markup:
    return element("label", element("input", type="checkbox", name=name, **attributes), " ", words)


def _nothing() -> str:
    return _("There is no table to watch here. It has ended, is private, or is closed to spectators.")


def _own_name(language: str) -> str:
    with speaking(language):
        return _(OWN_NAME)


def _page(
    language: str,
    title: str,
    content: Markup,
    live: Mapping[str, str],
    home: str,
    *,
    refreshed: bool = False,
    scripts: Sequence[Markup] = (_SCRIPT,),
    class_: str = "",
    bar: Markup = EMPTY,
) -> str:
    """Return a whole page; without JavaScript it may be loaded again and again."""
    languages = (
        Markup(' <a href="?lang={0}" hreflang="{0}" lang="{0}">{1}</a>').format(each, _own_name(each))
        for each in LANGUAGES
        if each != language
    )
    refresh = Markup('<noscript><meta http-equiv="refresh" content="15"></noscript>\n')
    page = template("page.html").format(
        language=language,
        look=with_attributes({"class": class_}) if class_ else EMPTY,
        whole_title=title if title == "Palatinus" else f"{title} - Palatinus",
        style=_STYLE,
        refresh=refresh if refreshed else EMPTY,
        attributes=with_attributes(live),
        home=EMPTY if home == "./" else Markup('<p><a href="{}">Palatinus</a></p>').format(home),
        title=title,
        bar=bar,
        lost=_("The connection to the server was lost. Trying again."),
        content=content,
        languages=join(*languages),
        scripts=join(*(element("script", each) for each in scripts)),
    )
    return str(page)


def _table(table: TableSummary) -> Markup:
    title = Markup("<bdi>{}</bdi> · ").format(printable(table.title)) if table.title else ""
    content = Markup("<strong>{}</strong> {}<bdi>{}</bdi> · {} · {}").format(
        table.table, title, printable(table.host), describe_seats(table), describe_listed_stage(table)
    )
    content += join(*(f" · {words}" for words in describe_unusual(table.switches)))
    if not table.switches.spectators:
        return element("li", element("div", content))
    return element("li", element("a", content, href=f"watch/{table.table}"))


def _more_tables(more: int) -> str:
    return counted("and {n} more table", "and {n} more tables", more).format(n=more) if more else ""


def game_address(address: str) -> str:
    """Return where `palatinus join` finds the server whose front page is at `address`."""
    parts = urlsplit(address)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]  # clients would try their own default
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    path = "" if parts.path == "/" else parts.path
    return f"{'wss' if parts.scheme == 'https' else 'ws'}://{host}:{port}{path}"
