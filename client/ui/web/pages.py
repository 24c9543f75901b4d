"""The pages of a server, whole or in parts, in the reader's language."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from markupsafe import Markup

from client.language import LANGUAGES, _, counted, language_among, speaking
from client.network.refusals import describe_refusal
from client.player.terminal import Colours
from client.tables.draws import Doubt, describe_fault
from client.ui.export.picture import BOARD_STYLE
from client.ui.terminal.painter import PEOPLE_COLOURS
from client.ui.texts.tables import PRIVATE, SPECTATORS, describe_layout, describe_listed_stage, describe_seats
from client.ui.web.html import EMPTY, element, join, qr_code
from client.ui.web.table_parts import PARTS, empty_board, table_parts, way_in
from client.ui.web.tv_parts import SMALL, between_games, call, small_table
from engine.events import SeenEvent
from engine.fairness import Mismatch
from engine.view import View
from protocol.limits import CHAT_LENGTH, CODE_LENGTH, NAME_LENGTH, PRIVATE_CODE_LENGTH
from protocol.messages import Evening, PersonNumber, Refused, TableState, TableSummary
from protocol.pages import EVENING, NoPage, OnTelevision, PlayerHand
from protocol.text import printable

_MOST_TABLES: Final = 60  # in the list, so that it stays small on its way to a hundred phones
_LEAST_SECONDS: Final = 2.0  # for a step of the scoring
_HERE: Final = Path(__file__).parent
_SCRIPT: Final = Markup((_HERE / "page.js").read_text(encoding="utf-8"))  # noqa: S704 - our own
_PLAYER_SCRIPT: Final = Markup((_HERE / "play.js").read_text(encoding="utf-8"))  # noqa: S704 - our own
_PEOPLES: Final = "".join(
    f".people-{people.value} {{ background: {pair.background}; color: {pair.foreground}; }}\n"
    for people, pair in PEOPLE_COLOURS[Colours.TRUE].items()
)
_RULES: Final = (_HERE / "page.css").read_text(encoding="utf-8")
_STYLE: Final = Markup(BOARD_STYLE + _RULES + _PEOPLES)  # noqa: S704 - our own
_NAMES: Final = {"en": "English", "it": "Italiano", "fr": "Français", "nl": "Nederlands"}
# A hill's hex. Without an icon, browsers would ask for one at an address of their own.
_ICON: Final = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M8 0l7 4v8l-7 4-7-4V4z' fill='%237a1f1f'/%3E%3C/svg%3E"
)
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
        f"default-src 'none'; script-src {_hash(_SCRIPT)} {_hash(_PLAYER_SCRIPT)}; "
        f"style-src {_hash(_STYLE)}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def __init__(
        self, characters_per_second: float = 20.0, *, ssh_port: int | None = None, plays: bool = True
    ) -> None:
        self._speed = characters_per_second
        self._ssh_port = ssh_port
        self._plays = plays

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
            heading = element("h2", _("Tables"))
            if tables is None:
                text = _("This server needs a password. Its tables can be seen with the command below.")
                listing = element("section", heading, element("p", text))
            else:
                inside = Markup(tables["tables"])  # noqa: S704 - it comes from `tables` below
                listing = element("section", heading, element("div", inside, id="tables"))
            lead = element("p", _("The board game of the seven hills of Rome, for two to five players."))
            code = _field(_("Code of a table"), "code", pattern=_TYPED_CODE, autocomplete="off")
            play = element("button", _("Play in this browser"), class_="main")
            opens = element("p", element("a", _("Open a table"), href="play/", class_="main"))
            find = join(element("form", code, play, id="find"), opens) if self._plays else EMPTY
            if evening and self._plays:
                way = element("a", _("Take part in the evening"), href=f"play/{EVENING}", class_="main")
                lead = join(lead, element("p", way))
            content = join(lead, listing, find, self._how_to_join(address))
            if tables is not None:
                content += element("p", element("a", _("On a television"), href="tv"))
            live = {} if tables is None else {"data_live": "watch"}
            return _page(language, "Palatinus", content, live, "./", refreshed=True)

    def watch(self, language: str, address: str, code: str) -> str:
        """Return the page of a table; the table itself comes later, in parts."""
        with speaking(language):
            title = _("Table {code}").format(code=code)
            needed = _("To watch, switch on JavaScript, or run the command at the end of this page.")
            back = element(
                "a", _("Back to your seat"), href=f"../play/{code}", id="back", class_="main", hidden=""
            )
            content = join(
                element("noscript", element("p", needed)),
                _table_content(join(element("p", id="play"), back), EMPTY),
                self._how_to_join(address, code),
            )
            return _page(language, title, content, {"data_live": code}, "../")

    def play(self, language: str, code: str, *, locked: bool) -> str:
        """Return the page of a seat, which asks for a name first, unless the browser has the seat already."""
        with speaking(language):
            fields = [_field(_("Your name"), "name", maxlength=str(NAME_LENGTH), autocomplete="nickname")]
            if locked:
                fields.append(_field(_("The server's password"), "password", type="password"))
            title, takes = _("Table {code}").format(code=code), _("Take a seat")
            if code == EVENING:
                title, takes = _("The evening"), _("Sign up")
            if not code:
                title = takes = _("Open a table")
                fields += _new_table()
            form = element("form", *fields, element("button", takes, class_="main"), id="join", hidden="")
            words = element(
                "input", id="words-said", maxlength=str(CHAT_LENGTH), aria_label=_("Chat"), autocomplete="off"
            )
            say = element("form", words, element("button", _("Say")), id="say")
            chat = join(element("h2", _("Chat")), element("ol", id="said"), say)
            menu = element("details", element("summary", _("The table")), element("div", id="menu"))
            move = join(
                element("p", id="look"),
                element("p", id="clock"),
                element("div", id="hand"),
                element("div", id="ask"),
            )
            content = join(
                element("noscript", element("p", _("To play, switch on JavaScript."))),
                element("p", id="refusal", role="alert"),
                element("div", id="call"),
                form,
                element("div", _table_content(move, join(chat, menu)), id="game", hidden=""),
            )
            texts = {
                "data_play": code,
                "data_spectator": _("a spectator"),
                "data_server": _("The server"),
                "data_missed": _("Missed: {news}"),
                "data_taken": _("This seat is in use in another window."),
                "data_moves": _("The table is now at {address}. Go there?"),
                "data_table": _("Table {code}"),
                "data_commitment": describe_fault(Doubt.COMMITMENT),
                "data_share": describe_fault(Doubt.SHARE),
                "data_seed": describe_fault(Mismatch.SEED),
            }
            return _page(language, title, content, texts, "../", scripts=(_SCRIPT, _PLAYER_SCRIPT))

    def call(self, language: str, evening: Evening, person: PersonNumber, at: str | None) -> str:
        with speaking(language):
            return str(call(evening, person, at))

    def refusal(self, language: str, refused: Refused) -> str:
        with speaking(language):
            return str(join(describe_refusal(refused)))

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
    ) -> tuple[dict[str, str], float | None]:
        """Return the parts of a table's page, and in how many seconds the scoring's next step is due.

        `step` is how far the walk through the scoring is, None if it is over.
        """
        with speaking(language):
            parts, last = table_parts(state, view, events, step, hand, plays=self._plays)
            if last is None:
                return parts, None
            return parts, max(_LEAST_SECONDS * 20.0, len(parts["now"])) / self._speed

    def tv(self, language: str, address: str) -> str:
        """Return the page for a television; the tables come later, in parts."""
        typed = address.removeprefix("http://").removesuffix("/")
        with speaking(language):
            leads = _("QR code that leads to {address}").format(address=address)
            joins = element(
                "div", qr_code(address, leads), element("p", _("Join:"), " ", element("bdi", typed))
            )
            grid = element(
                "div",
                *(element("div", id=part) for part in SMALL),
                element("p", id="more"),
                joins,
                id="small",
            )
            content = join(_table_content(EMPTY, grid), element("section", id="waiting"))
            return _page(language, "Palatinus", content, {"data_live": "tv", "class_": "tv"}, "./")

    def small(self, language: str, state: TableState, view: View) -> str:
        with speaking(language):
            return str(small_table(state, view))

    def on_tv(self, language: str, shown: OnTelevision) -> dict[str, str]:
        with speaking(language):
            parts = {part: shown.large.get(part, "") for part in PARTS}
            if parts["moves"].startswith(f"<li>{parts['now']}<"):  # the scoring's sentence is said already
                parts["moves"] = ""
            parts |= dict(zip_longest(SMALL, shown.small, fillvalue=""))
            between = EMPTY if shown.large else between_games(shown.waiting, shown.evening)
            return parts | {"more": str(join(_more_tables(shown.more))), "waiting": str(between)}

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
        heading, shown = element("h2", _("Join")), command
        if code:  # the table's parts say later whether there is a seat
            heading = element("h2", _("Join"), id="way-in")
            shown = join(command, element("span", id="watching"))
        content = [
            heading,
            element("p", _("With Palatinus installed, run this command in a terminal:")),
            _command(shown),
        ]
        if self._ssh_port is not None:
            content += [
                element("p", _("Or run this one, with nothing installed:")),
                _command(f"ssh -p {self._ssh_port} {urlsplit(address).hostname}"),
            ]
        content += [
            element("p", _("A phone's camera opens this page with this code:")),
            qr_code(here, _("QR code that leads to {address}").format(address=here)),
            element("p", element("bdi", here), class_="faint"),
        ]
        return element("section", *content)


def _table_content(move: Markup, more: Markup) -> Markup:
    """Return where the parts of a table go, with those for the player's `move` below the board."""
    side = join(
        element("h2", _("Players")),
        element("ul", id="players"),
        element("div", id="result"),
        element("h2", id="recent"),
        element("ol", id="moves"),
        more,
    )
    return join(
        element(
            "div",
            element("p", id="title"),
            element("p", id="now", role="status"),
            empty_board(_("The board; it is described in words below.")),
            element("div", move, side, class_="side"),
            class_="table",
        ),
        element("details", element("summary", _("The board in words")), element("ul", id="words")),
    )


def _field(words: str, name: str, **attributes: str) -> Markup:
    return element("label", words, " ", element("input", name=name, required="", **attributes))


def _new_table() -> Iterator[Markup]:
    """Yield what can be chosen for a table that is opened here; its menu has the rest."""
    numbers = (
        element("option", str(number), **({"selected": ""} if number == 3 else {})) for number in range(2, 6)
    )
    yield element("label", _("Players"), " ", element("select", *numbers, name="players"))
    for name, words in (("layout", describe_layout(at_random=True)), ("private", PRIVATE.describe(on=True))):
        yield element("label", element("input", type="checkbox", name=name), " ", words)


def _nothing() -> str:
    return _("There is no table to watch here. It has ended, is private, or is closed to spectators.")


def _page(
    language: str,
    title: str,
    content: Markup,
    live: Mapping[str, str],
    home: str,
    *,
    refreshed: bool = False,
    scripts: Sequence[Markup] = (_SCRIPT,),
) -> str:
    """Return a whole page; without JavaScript it may be loaded again and again."""
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="robots", content="noindex"),
        element("title", title if title == "Palatinus" else f"{title} - Palatinus"),
        element("link", rel="icon", href=_ICON),
        element("style", _STYLE),
        element("noscript", element("meta", http_equiv="refresh", content="15")) if refreshed else "",
    )
    text = _("The connection to the server was lost. Trying again.")
    lost = element("p", text, id="lost", role="alert", hidden="")
    languages = join(
        *(
            join(" ", element("a", _NAMES[each], href=f"?lang={each}", hreflang=each, lang=each))
            for each in LANGUAGES
            if each != language
        )
    )
    top = (
        element("h1", title)
        if home == "./"
        else join(element("p", element("a", "Palatinus", href=home)), element("h1", title))
    )
    body = element(
        "body",
        element("header", top),
        element("main", lost, content),
        element("footer", element("p", languages)),
        *(element("script", each) for each in scripts),
        **live,
    )
    html = element("html", element("head", head), body, lang=language)
    return str(Markup("<!DOCTYPE html>{}\n").format(html))


def _table(table: TableSummary) -> Markup:
    said = [element("bdi", printable(table.title)), " · "] if table.title else []
    content = join(
        element("strong", table.table),
        " ",
        *said,
        element("bdi", printable(table.host)),
        f" · {describe_seats(table)} · {describe_listed_stage(table)}",
    )
    if table.no_spectators:
        return element("li", element("div", content, f" · {SPECTATORS.describe(on=False)}"))
    return element("li", element("a", content, href=f"watch/{table.table}"))


def _more_tables(more: int) -> str:
    return counted("and {n} more table", "and {n} more tables", more).format(n=more) if more else ""


def _command(text: str) -> Markup:
    button = element("button", _("Copy"), type="button", hidden="", data_done=_("Copied"))
    return element("div", element("code", text), button, class_="command")


def game_address(address: str) -> str:
    """Return where `palatinus join` finds the server whose front page is at `address`."""
    parts = urlsplit(address)
    port = parts.port or _DEFAULT_PORTS[parts.scheme]  # clients would try their own default
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    path = "" if parts.path == "/" else parts.path
    return f"{'wss' if parts.scheme == 'https' else 'ws'}://{host}:{port}{path}"
