"""Joining what is found on the network: the page as pure functions, and in a real terminal."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace as replace_fields

from client.finding import found
from client.player.seats import KeptSeat
from client.tables.table import TableModel
from client.ui import requests
from client.ui.frame import width_of
from client.ui.keys import ChooseLine
from client.ui.screens.dispatch import updated
from client.ui.screens.lobby import LobbyPage, TakingOver
from client.ui.screens.screen import drawn
from client.ui.screens.search import Search, seat_stands, with_found
from client.ui.state import Ui, Ways
from client.ui.texts.glyphs import UNICODE
from discovery.names import default_name
from protocol.messages import TableSummary, Turn
from tests.client.ui.pty_terminal import RUN, Terminal
from tests.client.ui.seen import after, assert_screen, at_home, request_after, screen_of, text_of
from tests.discovery.network import own_network
from tests.games import examples
from tests.server.peer import connected
from tests.server.process import serving

NOWHERE = TableModel()
LOOKING = Ui("Ann", screens=(Search(),))
ATTIC = "ws://192.0.2.7:7733"
CELLAR = "wss://192.0.2.8:7733"


def table(code: str, host: str, taken: int = 1, *, title: str = "") -> TableSummary:
    return TableSummary(code, host, 4, taken, "gathering", title=title)


TABLES = found.Listed((table("KXQT", "Bob", 3, title="Friday"), table("WKGQ", "Cosima")))
FOUND = found.Found(
    (
        found.FoundServer("attic", ATTIC, TABLES),
        found.FoundServer("cellar", CELLAR, found.Locked()),
        found.FoundServer("", "ws://192.0.2.9:40123", found.Listed()),
        found.FoundServer(
            "Anna's laptop", "ws://192.0.2.10:7733", found.Silent("ws://192.0.2.10:7733 does not answer.")
        ),
        found.FoundServer("garden", "ws://192.0.2.11:7733"),
    )
)


def test_a_table_of_several_servers_is_shown_where_it_is() -> None:
    """Or, if that server was not found, where it was found first."""
    there = [table("AAAA", "Anna"), table("BBBB", "Bruno"), table("CCCC", "Carla")]
    a, b, c = (replace_fields(each, elsewhere=True) for each in there)
    servers = (
        found.FoundServer("one", "ws://one", found.Listed((there[0], b, c), 1)),
        found.FoundServer("two", "ws://two", found.Listed((a, there[1], c))),
        found.FoundServer("three", "ws://three", found.Locked()),
    )
    assert [each.answer for each in found.each_table_once(servers)] == [
        found.Listed((there[0], c), 1),
        found.Listed((there[1],)),
        found.Locked(),
    ]


SEEN = with_found(LOOKING, FOUND)


def chosen(ui: Ui) -> tuple[str, str] | None:
    assert isinstance(ui.page, Search)
    return ui.page.chosen


def test_one_key_joins_the_first_table() -> None:
    """Whatever appears first is chosen, and stays chosen when others appear before it."""
    assert chosen(LOOKING) is None
    asked = with_found(LOOKING, found.Found((found.FoundServer("attic", ATTIC),)))
    assert chosen(asked) == (ATTIC, "")
    seen = with_found(asked, FOUND)
    assert request_after(seen, NOWHERE, "enter") == requests.GoTo(ATTIC, "KXQT")
    newer = found.Listed((table("ZZZZ", "Dario"), *TABLES.tables))
    assert chosen(with_found(seen, found.Found((found.FoundServer("attic", ATTIC, newer),)))) == (
        ATTIC,
        "KXQT",
    )


def test_a_seat_that_was_somebodys_is_not_taken_unasked() -> None:
    """A study says that it is one; neither it nor a game under way is chosen before a table that waits."""
    study = TableSummary("RKCW", "Ann", 5, 2, "playing", vacant=3, study=True)
    left = TableSummary("ZPPS", "Ann", 5, 4, "playing", vacant=1)
    full = TableSummary("ABCD", "Dario", 3, 3, "gathering")
    attic = found.FoundServer("attic", ATTIC, found.Listed((study, left, full)))
    alone = with_found(LOOKING, found.Found((attic,)))
    assert re.search(r"RKCW +Ann +2 of 5 +a study; a seat is free", screen_of(alone, NOWHERE))
    assert chosen(alone) == (ATTIC, "")
    both = with_found(alone, found.Found((attic, found.FoundServer("cellar", CELLAR, TABLES))))
    assert chosen(both) == (CELLAR, "KXQT")
    for down, code in (1, "RKCW"), (2, "ZPPS"):
        asked = after(alone, NOWHERE, *["down"] * down, "enter")
        assert "y: yes, n: no" in screen_of(asked, NOWHERE)
        assert request_after(asked, NOWHERE, "y") == requests.GoTo(ATTIC, code)
        assert after(asked, NOWHERE, "n").overlay is None
        seat = Search(found.Found((attic,)), seats=(KeptSeat(ATTIC, code, "Anna"),), chosen=(ATTIC, code))
        assert request_after(Ui("Anna", screens=(seat,)), NOWHERE, "enter") == requests.GoTo(ATTIC, code)


def test_servers_and_tables_are_chosen() -> None:
    at_server = screen_of(after(SEEN, NOWHERE, "up", "w"), NOWHERE)
    assert "Use the arrow keys" in at_server
    assert "w watch" not in at_server
    clicked, at_first = updated(SEEN, ChooseLine(3), NOWHERE)
    assert at_first is None
    assert updated(clicked, ChooseLine(3), NOWHERE)[1] == requests.GoTo(CELLAR)
    assert request_after(SEEN, NOWHERE, "escape") is None
    assert request_after(at_home(SEEN), NOWHERE, "escape") == requests.Errand.GO_HOME


def test_kept_seats_come_first() -> None:
    seats = (KeptSeat("ws://192.0.2.99:7733", "ABCD", "Anna"), KeptSeat(ATTIC, "KXQT", "Bruno"))
    page = Search(chosen=("ws://192.0.2.99:7733", "ABCD"), seats=seats)
    seen = with_found(Ui("Ann", screens=(page,)), FOUND)
    screen = screen_of(seen, NOWHERE)
    assert re.search(r"► ABCD +your seat +you are Anna +ws://192.0.2.99:7733", screen)
    assert re.search(r"  KXQT +your seat +you are Bruno +ws://", screen)
    assert request_after(seen, NOWHERE, "enter") == requests.GoTo("ws://192.0.2.99:7733", "ABCD")
    assert request_after(seen, NOWHERE, "down", "enter") == requests.GoTo(ATTIC, "KXQT")
    assert request_after(seen, NOWHERE, "down", "down", "enter") == requests.GoTo(ATTIC)


def test_a_table_that_this_program_hosted_is_hosted_on() -> None:
    """Unless it is hosted again, as its server says."""
    seat = KeptSeat(ATTIC, "KXQT", "Anna")
    ui = Ui("Ann", screens=(Search(chosen=seat[:2], seats=(seat,), stopped=frozenset({seat})),))
    ui = seat_stands(ui, seat, found.Silent("Is the server running?"))
    screen = screen_of(ui, NOWHERE)
    assert re.search(r"► KXQT +stopped +you are Anna", screen)
    assert "This program hosted the table." in screen
    assert request_after(ui, NOWHERE, "enter") == requests.HostOn(ATTIC, "KXQT")
    assert request_after(ui, NOWHERE, "a", *"kxqt", "enter") == requests.HostOn(ATTIC, "KXQT")
    hosted = seat_stands(ui, seat, Turn(1, "playing", seat=0, turn=0, name="Anna"))
    assert request_after(hosted, NOWHERE, "enter") == requests.GoTo(ATTIC, "KXQT")


def test_whose_turn_it_is_where_seats_are_kept() -> None:
    """As far as the servers say so, with the reason if one does not."""
    codes = ("AAAA", "BBBB", "BBCC", "BCBC", "CCCC", "DDDD", "EEEE", "FFFF")
    seats = tuple(KeptSeat(ATTIC, code, "Anna") for code in codes)
    until = int(datetime(2026, 11, 27, 20, tzinfo=UTC).timestamp())
    told: tuple[found.SeatAnswer, ...] = (
        Turn(1, "playing", seat=0, turn=0, name="Anna", clock=271_000),
        Turn(1, "playing", seat=0, turn=1, name="Bruno\x1b[2J"),
        Turn(1, "playing", seat=0, turn=1, name="Bruno", clock=271_000, paused=True),
        Turn(1, "playing", seat=0, turn=0, name="Anna", paused=True, paused_until=until),
        Turn(1, "gathering", seat=0),
        Turn(1, "playing", archived=True),
        found.Gone(),
        found.Silent("ws://192.0.2.7:7733 does not answer."),
    )
    seen = Ui("Ann", screens=(Search(chosen=(ATTIC, "FFFF"), seats=seats),))
    for seat, answer in zip(seats, told, strict=True):
        seen = seat_stands(seen, seat, answer)
    assert_screen("seats-80x24", screen_of(seen, NOWHERE))


def test_an_address_or_a_name_is_typed() -> None:
    asking = after(SEEN, NOWHERE, "a")
    assert request_after(asking, NOWHERE, *"example.org", "enter") == requests.GoTo("ws://example.org:7733")
    assert request_after(asking, NOWHERE, *"Cellar", "enter") == requests.GoTo(CELLAR)


@pytest.mark.parametrize(
    ("typed", "goal", "told"),
    [
        (
            "http://192.0.2.7:7733/play/WKGQ#x",
            requests.GoTo(ATTIC, "WKGQ"),
            "attic: WKGQ: Cosima is the host",
        ),
        ("attic wkgq", requests.GoTo(ATTIC, "WKGQ"), "attic: WKGQ: Cosima is the host"),
        ("abcd", requests.GoTo("ws://192.0.2.99:7733", "ABCD"), "ws://192.0.2.99:7733: ABCD"),
        ("WKGQ", requests.GoTo(ATTIC, "WKGQ"), "attic: WKGQ: Cosima is the host"),
        ("Anna's laptop", requests.GoTo("ws://192.0.2.10:7733"), ""),
        ("192.0.2.1", requests.GoTo("ws://192.0.2.1:7733"), "ws://192.0.2.1:7733"),
    ],
)
def test_what_a_friend_sent_leads_there_and_says_so_at_once(
    typed: str, goal: requests.GoTo, told: str
) -> None:
    """A code leads to a seat that is kept, or to the server that lists the table."""
    listing = replace_fields(TABLES, codes=frozenset({"KXQT", "WKGQ"}))
    attic = found.Found((found.FoundServer("attic", ATTIC, listing), *FOUND.servers[1:]))
    page = Search(seats=(KeptSeat("ws://192.0.2.99:7733", "ABCD", "Anna"),))
    asking = after(with_found(Ui("Ann", screens=(page,)), attic), NOWHERE, "a")
    assert told in screen_of(after(asking, NOWHERE, *typed), NOWHERE, 120, 40)
    assert request_after(asking, NOWHERE, *typed, "enter") == goal


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("barn", "No server called 'barn' and no table BARN .* write ws://barn"),
        ("stable", r"Found: attic, cellar, Anna's laptop .*write ws://stable"),
        ("stable KXQT", "No server called stable KXQT answers here"),
    ],
)
def test_what_nobody_has_is_said_on_the_page(typed: str, said: str) -> None:
    asking = after(SEEN, NOWHERE, "a")
    assert request_after(asking, NOWHERE, *typed, "enter") is None
    refused = after(asking, NOWHERE, *typed, "enter")
    assert re.search(said, " ".join(screen_of(refused, NOWHERE, 120, 40).split()))


def test_a_code_takes_nobodys_seat_over_without_a_question() -> None:
    left = TableSummary("WKGQ", "Cosima", 4, 3, "playing", vacant=1)
    listing = found.Listed((left,), codes=frozenset({"WKGQ"}))
    seen = with_found(LOOKING, found.Found((found.FoundServer("attic", ATTIC, listing),)))
    asked = after(seen, NOWHERE, "a", *"WKGQ", "enter")
    assert isinstance(asked.overlay, TakingOver)
    assert request_after(asked, NOWHERE, "y") == requests.GoTo(ATTIC, "WKGQ")


def test_what_is_chosen_and_goes_leads_to_its_server_and_then_nowhere() -> None:
    """Enter never joins something else because the list has changed."""
    at_second = after(SEEN, NOWHERE, "down")
    assert chosen(at_second) == (ATTIC, "WKGQ")
    fewer = with_found(
        at_second, found.Found((found.FoundServer("attic", ATTIC, found.Listed(TABLES.tables[:1])),))
    )
    assert chosen(fewer) == (ATTIC, "")
    gone = with_found(fewer, found.Found((found.FoundServer("cellar", CELLAR, found.Locked()),)))
    assert chosen(gone) is None
    assert after(gone, NOWHERE, "enter").entry is not None


def test_the_search() -> None:
    for size in ((80, 24), (40, 12)):
        assert_screen(f"search-{size[0]}x{size[1]}", screen_of(SEEN, NOWHERE, *size))


def test_what_keeps_servers_from_being_found_is_said() -> None:
    def words(ui: Ui) -> str:
        text = screen_of(ui, NOWHERE)
        return " ".join(text.replace("|\n", " ").split())

    assert "Looking for servers on this network." in words(LOOKING)
    assert "ask the host for the address" in words(LOOKING.with_page(Search(waited=True)))
    assert "(permission denied)" in words(with_found(LOOKING, found.Found(deaf="Permission denied")))
    assert "not connected to a network" in words(with_found(LOOKING, found.Found(deaf="")))
    silent = after(SEEN, NOWHERE, *["down"] * 4)
    assert "ws://192.0.2.10:7733 does not answer." in words(silent)


def test_the_host_sees_the_address_in_the_lobby() -> None:
    """From the moment the server is open, and the name as soon as it is announced."""
    ways = Ways(addresses=(ATTIC,))
    before = Ui("Ann", screens=(LobbyPage(),), ways=ways)
    assert f"Others join with palatinus join {ATTIC}" in screen_of(before, NOWHERE)
    announced = replace(before, ways=structs.replace(ways, found_as="attic-2"))
    assert "palatinus join finds this server as attic-2." in text_of(
        drawn(announced, NOWHERE, UNICODE, 80, 24)
    )


strange = st.text(st.characters(codec="utf-8"), max_size=60)
summaries = st.builds(
    TableSummary,
    table=st.sampled_from(["AAAA", "BBBB", "CCCC"]),
    host=strange,
    players=st.integers(0, 99),
    taken=st.integers(0, 99),
    stage=st.just("gathering"),
    title=strange,
)
listed = st.lists(summaries, max_size=20, unique_by=lambda each: each.table).map(tuple)
answers: st.SearchStrategy[found.Answer] = st.one_of(
    st.sampled_from([found.Asking(), found.Locked()]),
    st.builds(found.Silent, strange),
    st.builds(found.Listed, listed, st.integers(0, 999)),
)


urls = st.sampled_from([ATTIC, CELLAR, "ws://[fd00::9]:1"])
servers_found = st.lists(
    st.builds(found.FoundServer, st.text("ab ", max_size=32), urls, answers), unique_by=lambda each: each.url
)
some_keys = st.lists(st.sampled_from(["up", "down"]), max_size=30)


@examples(2)
@given(servers_found, some_keys, st.integers(20, 130), st.integers(8, 45))
def test_whatever_servers_say_fits_on_the_screen(
    servers: list[found.FoundServer], keys: list[str], width: int, height: int
) -> None:
    """Lines have the window's width, terminals are told nothing, and the chosen line is seen."""
    ui = after(with_found(LOOKING, found.Found(tuple(servers))), NOWHERE, *keys)
    frame = drawn(ui, NOWHERE, UNICODE, width, height)
    assert [width_of(content) for content in frame.lines] == [width] * height
    shown = "".join(text for content in frame.lines for _, text, _ in content)
    assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert any("class:chosen" in style for content in frame.lines for style, *_ in content)


@pytest.fixture
def network() -> Iterator[None]:
    with own_network():  # in which no program is that is forked
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_a_player_joins_what_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PALATINUS_MULTICAST")
    environment = {"HOME": str(tmp_path), "PALATINUS_MULTICAST": ""}
    options = ("--announce", "--memory", "--no-config", "--name", "attic")
    async with serving(*options, imported=False) as server, connected(server.port) as host:
        code = (await host.open(3)).table
        for words in ("--name", "Zoë"), ("Attic", code, "--name", "Zoë"), (code.lower(),):
            with Terminal("join", *words, environment=environment, script=RUN) as terminal:
                if words[0] == "--name":
                    address = rf"attic +ws://127.0.0.1:{server.port}"
                    terminal.shows("Join a game", address, f"► +{code} +Anna +1 of 3")
                    terminal.press("enter")
                terminal.shows(f"Table {code}", r"Zoë +\(you\)")  # at last under the name that was used last
                terminal.quit("y")


@pytest.mark.slow
@pytest.mark.usefixtures("network")
def test_what_is_hosted_on_the_start_screen_is_found_unless_that_is_not_wanted(tmp_path: Path) -> None:
    """Both would have the computer's name: if the first one had been announced, the second were renamed."""

    def terminal(folder: str, *options: str) -> Terminal:
        environment = {"HOME": str(tmp_path / folder), "PALATINUS_MULTICAST": ""}
        return Terminal(*options, environment=environment, size=(120, 40), script=RUN)

    with terminal("hidden", "--no-announce") as hidden, terminal("open") as hosts:
        for each in (hidden, hosts):
            each.shows("► Learn the game")
            each.press("down", "down", "enter", shows="Start hosting")
            each.press("enter", shows="Everyone who joins gets a seat")
        hosts.shows(rf"palatinus join finds this server as {re.escape(default_name())}\.")
        assert "finds this server" not in hidden.text


def test_a_name_that_is_not_found_is_said(tmp_path: Path) -> None:
    """If it cannot be the name of a computer either."""
    with Terminal("join", "no such attic", environment={"HOME": str(tmp_path)}) as terminal:
        code, left = terminal.ended()
        assert code == 2
        assert "no server called 'no such attic' was found on this network" in left
