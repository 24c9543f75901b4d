"""Pages as HTML: well-formed, in every language, and with nothing that a name could smuggle in."""

import random
import re
from collections.abc import Mapping
from html.parser import HTMLParser

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape
from msgspec import structs

from client.language import LANGUAGES, _, speaking
from client.ui.frame import WIDE, spoken
from client.ui.screens.reading import HANDS, RULES, counts_page, hands_rows
from client.ui.texts.pieces import piece_sign
from engine.events import GameEnded, Place, WolvesRevealed
from engine.game import Game, GameOptions
from engine.legal import LegalPlaces
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, eyes_of
from pages.drawing.html import qr_code
from pages.drawing.pages import WebPages, game_address
from pages.drawing.table_parts import PARTS, table_parts
from pages.shared import SMALL_TABLES, MoveChoice, NoPage, OnTelevision, PlayerHand
from protocol.messages import (
    Asked,
    Condition,
    Evening,
    EveningPerson,
    EveningTable,
    PlannedMove,
    SeatSummary,
    Stage,
    TableState,
    TableSummary,
)
from protocol.pages import Awaited, EveningShown
from tests.cases import cases
from tests.games import begun, examples, games, played, rest_slow, some_command

PAGES = WebPages()
VOID = {"input", "link", "meta"}


class Elements(HTMLParser):
    """The elements of a page, with their attributes; fails if they are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def summary(number: int, title: str = "", host: str = "Anna") -> TableSummary:
    code = "".join(chr(ord("A") + number // 26**place % 26) for place in range(4))
    return TableSummary(code, host, 3, 1, "playing", title=title)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_well_formed_and_has_all_its_parts(language: str) -> None:
    """Whatever comes later finds the element that it belongs into, exactly once."""
    listed = PAGES.tables(language, [summary(1), summary(2)])
    front = Elements(PAGES.front(language, "http://attic:7733/", listed))
    locked = PAGES.front(language, "http://attic:7733/", None)
    watch = Elements(PAGES.watch(language, "http://attic:7733/", "KRTV"))
    play = Elements(PAGES.play(language, "KRTV", locked=True))
    host = Elements(PAGES.host(language))
    for page in (front, watch, play, host, Elements(locked)):
        assert ("html", {"lang": language}) in page.found
        assert sum(tag == "h1" for tag, _attributes in page.found) == 1
    ids = [attributes["id"] for _tag, attributes in watch.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert set(PARTS) <= set(ids)
    for parts in (PAGES.nothing(language), PAGES.full(language)):
        assert set(parts) <= set(PARTS)
    assert {attributes.get("id") for _tag, attributes in front.found} >= set(listed)
    assert "data-live" not in locked


def test_nothing_on_a_page_comes_from_elsewhere_or_runs_by_itself() -> None:
    """No address but relative ones, no handlers, no styles in attributes: the security policy allows none."""
    whole = PAGES.front("en", "http://attic:7733/", PAGES.tables("en", [summary(1, "T")]))
    for page in (
        whole,
        PAGES.watch("en", "http://attic:7733/", "KRTV"),
        PAGES.absent("en", "../", NoPage.PASSWORD),
        PAGES.play("en", "KRTV", locked=True),
        PAGES.host("en"),
    ):
        for tag, attributes in Elements(page).found:
            assert not any(name.startswith("on") or name in {"style", "src"} for name in attributes)
            assert tag not in {"img", "iframe", "object", "base"}
            assert tag != "form" or not {"action", "method"} & attributes.keys()
            href = attributes.get("href") or ""
            assert ":" not in href or (tag == "link" and href.startswith("data:image/svg+xml,"))


def test_pages_are_small() -> None:
    """All of them together: what they share, the rules in short among it, is counted once."""
    pages = [
        PAGES.front("en", "http://attic:7733/", PAGES.tables("en", [])),
        PAGES.watch("en", "http://attic:7733/", "KRTV"),
        PAGES.play("en", "KRTV", locked=True),
        PAGES.tv("en", "http://attic:7733/"),
        PAGES.host("en"),
    ]
    lines = {line for page in pages for line in page.splitlines()}
    assert sum(len(line.encode()) + 1 for line in lines) <= 72_000


def test_a_long_list_is_cut() -> None:
    tables = PAGES.tables("en", [summary(number) for number in range(65)])["tables"]
    assert tables.count("<a ") == 60
    assert "and 5 more tables" in tables


@examples(5)
@given(st.text(max_size=20), st.sampled_from(LANGUAGES))
def test_no_name_or_title_becomes_html(name: str, language: str) -> None:
    plain = PAGES.tables(language, [summary(1, "T", "N")])["tables"]
    strange = PAGES.tables(language, [summary(1, f"<{name}>", f"&{name}'\"<script>")])["tables"]
    assert Elements(plain).found == Elements(strange).found
    state = TableState("KRTV", "gathering", [SeatSummary(f"</li><b>{name}", here=True), SeatSummary()], 0)
    parts, _last = table_parts(state, None, [], None)
    assert [tag for tag, _attributes in Elements(parts["players"]).found] == ["li", "bdi", "li", "span"]


def table(players: int, stage: Stage = "playing", **changes: object) -> TableState:
    seats = [SeatSummary(f"P{seat}", here=True) for seat in range(players)]
    return TableState("KRTV", stage, seats, 0, **changes)  # type: ignore[arg-type]


@examples(3)
@given(games())
def test_every_moment_of_a_game_can_be_drawn(game: Game) -> None:
    state = table(game.view.seats, "over" if game.over else "playing")
    view = snapshot(game.view, SPECTATOR)
    parts, _last = table_parts(state, view, [redacted(event, SPECTATOR) for event in game.events[-8:]], None)
    assert set(parts) == set(PARTS)
    for inside in parts.values():
        Elements(inside)
    laid = sum(tile is not None for tile in view.tiles)
    assert parts["words"].count("<li>") == laid
    assert len(re.findall(r"[A-G][1-6]", parts["words"])) == 6 * laid


@pytest.mark.parametrize("players", rest_slow(5, 2))
@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_a_television_tells_the_scoring_within_a_minute(players: int, language: str) -> None:
    """Each capture and each hill is one sentence; what each of the hill's pieces counts is on the board."""
    game = played(GameOptions(players, random_layout=True), 3)
    view = snapshot(game.view, SPECTATOR)
    state, told, noted, seconds, step = table(players, "over"), list[str](), 0, 0.0, 0
    while True:
        parts, lasts = PAGES.table(language, state, view, [], step, within=20.0)
        if lasts is None:
            break
        told.append(parts["now"])
        noted = max(noted, sum('class="note"' in inside for inside in parts.values()))
        seconds += lasts
        step += 1
    assert seconds == pytest.approx(20.0)
    others = [each for each in view.scoring if not isinstance(each, WolvesRevealed | GameEnded)]
    assert len(told) == len(set(told)) == players + len(others)  # each player's wolves turn up by themselves
    assert "table" in parts["result"]
    assert noted > 2


def evening(people: int, stage: Stage | None, *, over: bool = False) -> EveningShown:
    """Return an evening of so many people, all of whom have played but the last, at tables of four."""
    numbers = range(1, people + 1)
    listed = [
        EveningPerson(number, f"P<{number}>", here=True, place=number, games=2, score=200 * (people - number))
        for number in numbers[:-1]
    ]
    listed.append(EveningPerson(people, f"P<{people}>", here=True, place=people))
    tables = [
        EveningTable(f"T{first}", 2, stage, list(numbers[first : first + 4]))
        for first in range(0, people, 4)
        if stage is not None
    ]
    shown = Evening("Idus", 2, 3, 60, over=over, people=listed, tables=tables)
    awaited: Awaited = "draw" if stage is None else "begin" if stage == "gathering" else "end"
    before = {number: (people + 1 - number, 100) for number in numbers}
    return EveningShown(shown, None if over else awaited, 75, frozenset({1}), before)


@pytest.mark.parametrize("person", [1, 9])
def test_nobody_who_is_called_is_thanked(person: int) -> None:
    """In the last round, after which no more tables are drawn; the others have played."""
    last = structs.replace(evening(9, "gathering").evening, closed=True)
    last.tables[-1] = structs.replace(last.tables[-1], people=[])
    told = PAGES.call("en", last, person, None)
    assert ("Go to your table" in told) is (person == 1)
    assert ("Thank you for playing." in told) is (person == 9)


def on_television(
    language: str, large: Mapping[str, str], shown: EveningShown | None, small: int = 0
) -> dict[str, str]:
    game = played(GameOptions(3, random_layout=True), 1, 9)
    drawn = PAGES.small(language, table(3), snapshot(game.view, SPECTATOR), Seat(1))
    return PAGES.on_tv(language, OnTelevision(large, [drawn] * small, 0, [], shown))


@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_a_television_has_a_place_for_all_that_it_is_sent(language: str) -> None:
    page = Elements(PAGES.tv(language, "http://attic:7733/"))
    ids = [attributes["id"] for _tag, attributes in page.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    game = played(GameOptions(3, random_layout=True), 1, 9)
    large = PAGES.table(language, table(3), snapshot(game.view, SPECTATOR), [], None)[0]
    for parts in (
        on_television(language, large, evening(9, "playing"), SMALL_TABLES),
        on_television(language, {}, evening(9, "gathering")),
        on_television(language, {}, evening(9, None)),
        on_television(language, {}, evening(9, None, over=True)),
        on_television(language, {}, None),
    ):
        assert set(parts) <= {*ids, "scene"}
        for inside in parts.values():
            Elements(inside)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_host_has_a_button_for_everybody_whose_name_says_what_it_does(language: str) -> None:
    page = Elements(PAGES.host(language))
    ids = [attributes["id"] for _tag, attributes in page.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for shown in (
        evening(9, "gathering"),
        evening(9, "playing"),
        evening(9, None),
        evening(9, None, over=True),
    ):
        parts = PAGES.hosted(language, shown)
        assert set(parts) <= set(ids)
        Elements(parts["evening"])
        buttons = re.findall(r"<button.*?>(.*?)</button>", parts["evening"])
        assert len(set(buttons)) == len(buttons)
        for number in range(1, 10):
            assert sum(f"P&lt;{number}&gt;" in words for words in buttons) == 2
        assert ("evening-draw" in parts["evening"]) is (shown.awaited == "draw")
        assert ("evening-close" in parts["evening"]) is (not shown.evening.over)
    for parts in (
        PAGES.hosted(language, None),
        PAGES.told_host(language, "http://attic:7733/", None),
        PAGES.not_host(language),
    ):
        assert set(parts) <= set(ids)


def test_a_television_says_what_an_evening_waits_for() -> None:
    """And who has come, what the round has changed, and how it ends; the page counts the seconds."""
    game = played(GameOptions(3, random_layout=True), 1, 9)
    large = PAGES.table("en", table(3), snapshot(game.view, SPECTATOR), [], None)[0]
    games = on_television("en", large, evening(9, "playing"), 2)
    assert games["scene"] == "tv games evening tables-few"
    assert games["strip"].endswith('<b data-left="75">1:15</b> left in this round.</span>')
    assert games["waiting"] == ""
    assert 'title="has the turn"' in games["small1"]
    assert 'title="leads"' in games["small1"]
    called = on_television("en", {}, evening(9, "gathering"))
    assert called["scene"] == "tv between evening tables-no"
    assert "The games begin within" in called["strip"]
    assert "✓ 1/4" in called["waiting"]
    assert "P&lt;5&gt;" in called["waiting"]
    between = on_television("en", {}, evening(9, None))["waiting"]
    assert '▲8</span><span class="gained faint">+15.0</span><b>16.0</b>' in between
    assert "▼6" in between
    ended = on_television("en", {}, evening(9, None, over=True))
    assert ended["scene"].startswith("tv podium")
    assert re.findall('class="step (.*?)"', ended["waiting"]) == ["first", "second", "third"]
    assert ended["waiting"].count("<li") == 6


@pytest.mark.parametrize(("length", "size"), [(40, "few"), (140, "some"), (240, "many")])
def test_a_long_sentence_on_a_television_is_set_in_smaller_type(length: int, size: str) -> None:
    parts = on_television("en", dict.fromkeys(PARTS, "") | {"now": "x" * length}, None)
    assert parts["now"] == f'<span class="words-{size}">{"x" * length}</span>'


def test_a_television_of_2018_understands_its_page() -> None:
    """Its browser has no selectors that look into elements, and none of these operators."""
    page = PAGES.tv("en", "http://attic:7733/")
    assert not re.search(r":has\(|\?\.[a-z(\[]|\?\?|\|\|=|&&=", page)


def test_a_player_is_offered_only_what_the_server_lists_as_legal() -> None:
    """R4.3: where a soldier is due, another piece can be looked at and not be placed."""
    game = begun(GameOptions(3), 1)
    chooser = random.Random(1)
    while not isinstance(legal := game.legal(), LegalPlaces) or any(p[1] != "s" for p in legal.pieces):
        assert legal is not None
        game.apply(some_command(game, chooser))
    view = snapshot(game.view, eyes_of(legal.seat))
    other = next(piece for piece, left in view.hands[legal.seat].items() if left and piece[1] != "s")
    for piece in (other, legal.pieces[0]):
        hand = PlayerHand(legal.seat, legal, MoveChoice(piece=str(piece), field=legal.fields[0]), ())
        parts, _last = table_parts(table(3), view, [], None, hand)
        assert ("place" in parts["ask"]) == (piece in legal.pieces)
        assert piece_sign(piece) in parts["ask"]


def test_a_player_is_told_what_to_do_in_each_kind_of_turn() -> None:
    """In one line: to lay a tile, to place a piece, to place a soldier, or to wait."""
    told = dict[str, str]()
    for seed in range(3):
        game, chooser = begun(GameOptions(3), seed), random.Random(seed)
        while not game.over:
            legal = game.legal()
            assert legal is not None
            for seat in (legal.seat, Seat((legal.seat + 1) % 3)):
                view = snapshot(game.view, eyes_of(seat))
                own = legal if seat == legal.seat else None
                kind = "wait" if own is None else type(own).__name__
                if isinstance(own, LegalPlaces) and any(
                    count and piece[1] != "s" for piece, count in view.hands[seat].items()
                ):
                    kind = "soldier" if all(piece[1] == "s" for piece in own.pieces) else kind
                if kind in told:
                    continue
                parts, _last = table_parts(table(3), view, [], None, PlayerHand(seat, own, MoveChoice(), ()))
                if help_line := re.search('<p class="faint">(.*?)</p>', parts["ask"]):
                    told[kind] = help_line[1]
            game.apply(some_command(game, chooser))
    assert told == {
        "LegalLays": "Touch where the tile is to lie, and turn it if you like.",
        "LegalPlaces": "Touch a piece, and a field.",
        "soldier": "It is time for a soldier, because none may be among your last pieces.",
        "wait": "While you wait: touch a piece and a field to see what it would do.",
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_are_on_every_page_where_people_play_or_watch(language: str) -> None:
    """All that a terminal shows of them, hands included."""
    with speaking(language):
        told = [_(part) for part in RULES if part != HANDS]
        numbers = [cell for row in hands_rows() for cell in row]
    for page in (
        PAGES.front(language, "http://attic:7733/", None),
        PAGES.watch(language, "http://attic:7733/", "KRTV"),
        PAGES.play(language, "", locked=False),
    ):
        for text in (*told, *numbers):
            assert str(escape(text)) in page


def placing() -> tuple[Game, Seat]:
    """Return a game with some pieces on the board, and the player who waits for the next one."""
    game = played(GameOptions(3, random_layout=True), 1, 9)
    legal = game.legal()
    assert legal is not None
    return game, Seat((legal.seat + 1) % 3)


def test_a_player_who_waits_plans_a_move_and_changes_that() -> None:
    game, seat = placing()
    view = snapshot(game.view, eyes_of(seat))
    piece = next(piece for piece, left in view.hands[seat].items() if left)
    field, other = (each for each in sorted(set(view.layout.fields.values()) - set(view.placed))[:2])

    def asked(chosen: str, *plans: PlannedMove) -> str:
        hand = PlayerHand(seat, None, MoveChoice(piece=str(piece), field=chosen), (), plans=plans)
        return table_parts(table(3), view, [], None, hand)[0]["ask"]

    plan = PlannedMove(str(piece), field)
    sign = piece_sign(piece)
    assert f"Plan {sign} on {field}" in asked(field)
    assert "Remove the plan" not in asked(field)
    added = asked(other, plan)
    assert f"Plan {sign} on {other}" in added
    assert f"if nobody takes {other}, {sign} on {field}" in added, "the other field, chosen now"
    assert f"2 otherwise {sign} on {field}" in asked(
        other, PlannedMove(str(piece), field, Condition(other)), plan
    )
    kept = asked(field, plan)
    assert f"Planned for your turn: {sign} on {field}." in kept
    assert f">Plan {sign}" not in kept
    assert "{&#34;t&#34;:&#34;plan&#34;,&#34;id&#34;:0}" in kept


def test_a_player_has_a_move_suggested_where_the_table_allows_that() -> None:
    game = played(GameOptions(3, random_layout=True), 1, 9)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    view = snapshot(game.view, eyes_of(legal.seat))
    move = Place(legal.seat, legal.pieces[0], legal.fields[0])
    for hints, suggested, told in ((False, None, ""), (True, None, "suggest a move"), (True, move, "Hint: ")):
        hand = PlayerHand(legal.seat, legal, MoveChoice(), (), hints=hints, suggested=suggested)
        parts, _last = table_parts(table(3), view, [], None, hand)
        assert told in parts["ask"]
        assert hints or "uggest" not in parts["ask"]
        assert (f"{piece_sign(move.piece)} on {move.field}." in parts["ask"]) == (suggested is not None)


def test_a_player_reads_what_others_may_still_hold() -> None:
    """As in a terminal, and nothing that the seat may not know."""
    game, seat = placing()
    view = snapshot(game.view, eyes_of(seat))
    parts, _last = table_parts(table(3), view, [], None, PlayerHand(seat, None, MoveChoice(), ()))
    with speaking("en"):
        for line in spoken(counts_page(view, ["P0", "P1", "P2"], WIDE, brief=True)):
            assert str(escape(line)) in parts["menu"]


def test_the_points_are_the_first_column_of_a_result() -> None:
    game = played(GameOptions(3, random_layout=True), 3)
    parts, _last = table_parts(table(3, "over"), snapshot(game.view, SPECTATOR), [], None)
    result = game.view.result
    assert result is not None
    heads = re.findall('<th scope="col">(.*?)</th>', parts["result"])
    assert heads[:2] == ["", "POINTS"]
    best = max(tally.points for tally in result.tallies)
    assert f"</th><td>{best}</td>" in parts["result"]


def test_each_field_that_can_be_touched_has_a_name() -> None:
    """For screen readers: what lies there, or which position it is; an image would hide its buttons."""
    for at_random in (False, True):
        game = begun(GameOptions(3, random_layout=at_random), 1)
        legal = game.legal()
        assert legal is not None
        view = snapshot(game.view, eyes_of(legal.seat))
        hand = PlayerHand(legal.seat, legal, MoveChoice(), ())
        parts, _last = table_parts(table(3), view, [], None, hand)
        touched = [
            attributes
            for part in parts.values()
            for tag, attributes in Elements(part).found
            if attributes.get("class") == "touch"
        ]
        assert len(touched) > 10
        names = [str(each["aria-label"]) for each in touched]
        assert all(re.fullmatch(r"position \d|[A-G][1-6](, a spring)?: empty", name) for name in names)
        assert any(name.endswith("empty") for name in names) or not at_random
    board = next(each for tag, each in Elements(PAGES.play("en", "KRTV", locked=False)).found if tag == "svg")
    watched = [
        each for tag, each in Elements(PAGES.watch("en", "http://a:7733/", "KRTV")).found if tag == "svg"
    ]
    assert board["role"] == "group"
    assert watched[0]["role"] == "img"


def test_a_player_is_asked_what_another_asks_for() -> None:
    game = played(GameOptions(3, random_layout=True), 1, 4)
    state = table(3, asked=Asked("take-back", [0]), may_ask=["take-back"])
    for seat, answers in ((Seat(0), ["No"]), (Seat(1), ["Yes", "No"])):
        view = snapshot(game.view, eyes_of(seat))
        parts, _last = table_parts(state, view, [], None, PlayerHand(seat, None, MoveChoice(), ()))
        assert "P0 asks to take back" in parts["ask"]
        assert [word for word in ("Yes", "No") if f">{word}<" in parts["ask"]] == answers


def test_a_player_reads_what_they_have_missed() -> None:
    """And which moves a bot has made; the latest move is told first."""
    game = played(GameOptions(3, random_layout=True), 1, 4)
    hand = PlayerHand(Seat(0), None, MoveChoice(), (), missed=frozenset({2, 3}), by_bot=frozenset({3}))
    latest = [redacted(event, eyes_of(Seat(0))) for event in game.events[-4:]]
    parts, _last = table_parts(table(3), snapshot(game.view, eyes_of(Seat(0))), latest, None, hand)
    told = re.findall("<li>(.*?)</li>", parts["moves"])
    assert ["Missed: " in each for each in told] == [True, True, False, False]
    assert ["A bot moved" in each for each in told] == [True, False, False, False]


def test_guests_are_told_how_to_come_over_ssh() -> None:
    page = WebPages(ssh_port=7722).front("en", "http://attic:7733/", None)
    assert "<code>ssh -p 7722 attic</code>" in page
    assert "ssh -p" not in PAGES.front("en", "http://attic:7733/", None)


def test_a_qr_code_has_an_empty_border() -> None:
    """Of four modules; it is described in words, whatever they are."""
    text = f"https://{'x' * 200}.example/watch/KRTV"
    size = len(segno.make_qr(text, error="m").matrix) + 8
    (wrapper, described), (svg, drawn), *paths = Elements(qr_code(text, '<"label">')).found
    assert (wrapper, described) == ("div", {"role": "img", "aria-label": '<"label">'})
    assert (svg, drawn["viewbox"], drawn["class"]) == ("svg", f"0 0 {size} {size}", "qr")
    assert [tag for tag, _ in paths] == ["path", "path"]


@pytest.mark.parametrize(("address", "game"), cases(__file__, "addresses"))
def test_the_game_is_where_the_page_is(address: str, game: str) -> None:
    """Always with the port: without one, clients would try their own default."""
    assert game_address(address) == game


def test_a_table_without_a_free_seat_is_only_watched() -> None:
    """Nobody is told to join it: the heading and the command change with the seats."""

    def way_in(stage: Stage, *seats: SeatSummary) -> tuple[str, str]:
        parts, _last = table_parts(TableState("KRTV", stage, list(seats), 0), None, [], None)
        return parts["way-in"], parts["watching"]

    anna, bot = SeatSummary("Anna", here=True), SeatSummary("greedy-1", here=True, level="greedy")
    joins, watches = ("Join", ""), ("Watch in a terminal", " --watch")
    assert way_in("gathering", anna, SeatSummary()) == way_in("gathering", anna, bot) == joins
    assert way_in("gathering", anna, anna) == watches
    assert way_in("playing", anna, bot) == watches
    assert way_in("playing", anna, SeatSummary("Bruno", vacant=True)) == joins
    assert way_in("over", anna, bot) == watches


def test_a_full_table_waits_to_start() -> None:
    full = TableSummary("KRTV", "Anna", 2, 2, "gathering")
    assert "waiting to start" in PAGES.tables("en", [full])["tables"]
    assert "waiting for players" in PAGES.tables("en", [structs.replace(full, taken=1)])["tables"]
    state = TableState("KRTV", "gathering", [SeatSummary("Anna"), SeatSummary("Bruno")], 0)
    assert table_parts(state, None, [], None)[0]["now"] == "waiting to start"
