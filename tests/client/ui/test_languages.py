"""Screens in every language: every text comes from the catalogues, and fits."""

import argparse
import contextlib
import gettext
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from prompt_toolkit.utils import get_cwidth

from client import language
from client.language import LANGUAGES, speaking
from client.records import Recording
from client.typed_text import BadText
from client.ui import requests
from client.ui.export.moment import as_svg
from client.ui.frame import Line, plain
from client.ui.keys import Act
from client.ui.lessons.course import Course
from client.ui.lessons.pages import PAGES as LESSONS
from client.ui.screens.actions import ACTIONS
from client.ui.screens.dispatch import after_key
from client.ui.screens.menu import At, Form
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading
from client.ui.screens.record_commands import RECORD_ACTIONS
from client.ui.screens.replay import open_record, seen_in
from client.ui.screens.scoring import COLUMNS as RESULT_COLUMNS
from client.ui.screens.scoring import Result, Scoring, ScoringPanel, last_step, scene
from client.ui.screens.screen import drawn
from client.ui.screens.start import HOSTING, SETTINGS
from client.ui.screens.typed_commands import (
    help_rows,
    meaning,
)
from client.ui.state import Pane, Ui
from client.ui.texts.games import describe_event
from client.ui.texts.glyphs import UNICODE
from commands.playing.start_screen import practice
from engine.components import Laurel
from engine.game import Game, GameOptions
from engine.redaction import redacted
from engine.view import SPECTATOR
from palatinus import build_parser
from tests.client.ui import seen
from tests.client.ui.draw.sample_pages import LEVELS, PAGES, placing
from tests.client.ui.test_start import NOWHERE
from tests.client.ui.test_start import UI as START
from tests.games import examples, finished_games, games, played, rest_slow

TRANSLATED = [each for each in LANGUAGES if each != "en"]
CYRILLIC = {ord(letter): chr(0x430 + at) for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
CYRILLIC |= {ord(letter): chr(0x410 + at) for at, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")}
FILLED_IN = re.compile(r"\{[^}]*\}|%\(\w+\)[srd]|%[srd]")

ALL_COMMANDS = help_rows((*ACTIONS, *RECORD_ACTIONS))

# The same in all languages: signs, addresses, names and commands.
SIGNS = re.compile(
    r"\b[A-G][1-6]\b|\b[ESLMA]?[mfs]\b|\bF[12]\b|wss?://[\w.:]+|palatinus \w+|--[\w-]+|[A-Z]+_[A-Z_]+"
)
SAME = frozenset(
    {
        *(word for name in seen.NAMES for word in name.split()),
        *(laurel.value for laurel in Laurel),
        *(word for typed, _ in ALL_COMMANDS for word in re.findall(r"\w+", typed)),
        *LEVELS,
        *("KXQT", "ABCD", "Palatinus", "Livia", "Marco", "Zoe"),
        *("Gina", "Lollobrigida", "Lollobrig", "gina", "emma"),  # a long name is cut
    }
)
ANY_KEYS = st.lists(st.sampled_from(seen.KEY_NAMES), max_size=20)
ANY_UNTYPED_KEYS = ANY_KEYS.map(lambda keys: [key for key in keys if key not in {":", "/", "t"}])


class Cyrillic(gettext.NullTranslations):
    """A language in which every text is in other letters, so that untranslated words stand out."""

    def gettext(self, message: str) -> str:
        parts = zip(FILLED_IN.split(message), [*FILLED_IN.findall(message), ""], strict=True)
        return "".join(text.translate(CYRILLIC) + kept for text, kept in parts)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@contextlib.contextmanager
def in_cyrillic() -> Iterator[None]:
    before, language._current = language._current, Cyrillic()
    try:
        yield
    finally:
        language._current = before


@pytest.fixture
def cyrillic() -> Iterator[None]:
    with in_cyrillic():
        yield


def untranslated(text: str) -> set[str]:
    """Return the words that do not come from the catalogues."""
    return {*re.findall(r"[A-Za-z]{2,}", SIGNS.sub(" ", text))} - SAME


def with_help(ui: Ui) -> tuple[Ui, Ui]:
    """Return the page, and under the first page of its help, whose others are the same everywhere."""
    return ui, ui.opened(Reading(Act.HELP))


@pytest.mark.usefixtures("cyrillic")
@pytest.mark.parametrize("page", PAGES)
def test_every_word_of_every_page_is_translated(page: str) -> None:
    ui, model = PAGES[page]()
    said = tuple(structs.replace(each, text="1") for each in ui.talk.remarks)
    ui = replace(ui, log=(), talk=replace(ui.talk, remarks=said))
    for shown in with_help(ui):
        assert not untranslated(seen.screen_of(shown, model))
    assert not untranslated(seen.screen_of(ui, model, 120, 40))


@pytest.mark.usefixtures("cyrillic")
def test_every_word_of_the_start_screen_and_the_lessons_is_translated() -> None:
    start = drawn(START, NOWHERE, UNICODE, 80, 24)
    forms = [drawn(START.opened(Form(page)), NOWHERE, UNICODE, 80, 24) for page in (SETTINGS, HOSTING)]
    for shown in (start, *forms, *seen.reading_pages(START, NOWHERE, Act.HELP, Act.RULES)):
        assert not untranslated(seen.text_of(shown))
    for number in range(len(LESSONS)):
        course = Course("Ann", practice, UNICODE, number)
        assert not untranslated(seen.screen_of(course.ui, course.model))


@pytest.mark.slow
@pytest.mark.usefixtures("cyrillic")
def test_every_word_about_a_record_is_translated() -> None:
    recording = Recording.of(played(GameOptions(3), 11).events, dict(enumerate(seen.NAMES)))
    for stop in (*range(0, recording.end, 9), recording.end):
        for eyes in (recording.all_eyes, SPECTATOR):
            ui = open_record(recording, stop, eyes)
            for shown in with_help(ui):
                assert not untranslated(seen.screen_of(shown, seen_in(ui)))
            picture = re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", as_svg(recording, stop, eyes))
            assert not untranslated(picture)


@examples(3)
@given(games(), ANY_UNTYPED_KEYS, st.data())
def test_every_word_of_any_screen_is_translated(game: Game, keys: list[str], data: st.DataObject) -> None:
    """After any keys, for any eyes, at any moment; typed lines have their own test."""
    seat = data.draw(st.none() | st.integers(0, game.view.seats - 1))
    with in_cyrillic():
        ui, model = seen.client_of(game, seat)
        for key in keys:
            ui, _ = after_key(ui, key, model)
        assert not untranslated(seen.screen_of(ui, model))


@examples(3)
@given(finished_games(), st.booleans())
def test_every_word_about_every_event_is_translated(game: Game, watching: bool) -> None:
    with in_cyrillic():
        for event in game.events:
            assert not untranslated(
                describe_event(redacted(event, SPECTATOR) if watching else event, seen.NAMES)
            )


@pytest.mark.usefixtures("cyrillic")
def test_every_word_about_a_misread_line_is_translated() -> None:
    """Only the typed words, and those to be typed instead, stay as they are."""
    record = open_record(Recording.of(played(GameOptions(3), 1, 20).events, {}), 0, SPECTATOR)
    in_game, at_record = At(*placing()), At(record, seen_in(record))
    typed = [*("", "xyz", "lay", "lay 9", "m* 9", "m* Z9", "Em* B9", "s* C4"), "say", "vote", "vote maybe"]
    in_record = ("xyz", "go", "go 99", "go scoring", "eyes", "eyes 9")
    for line in (*typed, "place m", *in_record):
        with pytest.raises(BadText) as misread:
            meaning(line, at_record if line in in_record else in_game)
        assert not untranslated(str(misread.value)) - {*line.split(), "yes"}, line


@pytest.mark.usefixtures("cyrillic")
def test_every_word_of_the_command_lines_help_is_translated() -> None:
    (commands,) = (each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command.all_arguments():
            if action.help and action.dest != "help":  # argparse's own is in another catalogue
                assert not untranslated(FILLED_IN.sub("", action.help)), action.help


@pytest.mark.parametrize(("spoken", "letter"), [("en", "y"), ("it", "s"), ("fr", "o"), ("nl", "j")])
def test_the_languages_own_letter_quits(spoken: str, letter: str) -> None:
    ui, model = placing()
    with speaking(spoken):
        request_after, _ = after_key(ui, "q", model)
        shown = seen.screen_of(request_after, model).replace("\N{NO-BREAK SPACE}", " ")
        quits = {key for key in "nosyj" if after_key(request_after, key, model)[1] == requests.Errand.QUIT}
    assert re.search(rf" {letter} ?: \w+, n ?: ", shown)
    assert re.search(rf"^ {letter} \w", shown.splitlines()[-1])
    assert quits == {letter, "y"}


KEY_PAGES = (
    *("lobby", "laying", "placing", "placing-two", "advised", "compared", "plans"),
    *("scoring-wolves", "scoring-soldier", "result"),
)


@pytest.mark.parametrize("spoken", TRANSLATED)
def test_key_pages_in_every_language(spoken: str) -> None:
    with speaking(spoken):
        shown = [seen.screen_of(*PAGES[page]()) for page in KEY_PAGES]
    seen.assert_screen(f"{spoken}-80x24", "\n".join(shown))


def words(lines: Iterable[Line]) -> list[str]:
    """Return the words of some lines: the same at every width, unless one is cut off.

    Bars, and the names of hills among others, are shown where there is room.
    """
    return [
        word
        for word in " ".join(map(plain, lines)).split()
        if word.strip(UNICODE.bar) and word not in {laurel.value for laurel in Laurel}
    ]


@pytest.mark.parametrize("spoken", rest_slow(*LANGUAGES))
def test_no_label_of_a_page_is_cut_off_at_the_least_size(spoken: str) -> None:
    """Pages without a board have the same words as in a wide window; all pages have the same titles."""
    recording = Recording.of(played(GameOptions(3), 11).events, {})
    replays = [
        (ui, seen_in(ui))
        for stop in (0, 5, 20, recording.moves, recording.end)
        for eyes in (recording.all_eyes, SPECTATOR)
        for ui in [open_record(recording, stop, eyes)]
    ]
    with speaking(spoken):
        for ui, model in [(START, NOWHERE), *(page() for page in PAGES.values()), *replays]:
            narrow, wide = (drawn(ui, model, UNICODE, width, 24).lines for width in (80, 160))
            board = isinstance(ui.page.game, Playing | Scoring)
            shown = slice(1) if board else slice(-1)  # the function bar may leave out keys
            seen_wide = words(wide[shown])
            if isinstance(ui.page.game, Result):  # tells more of the game where there is room
                assert is_part_of(words(narrow[shown]), seen_wide)
            else:
                assert words(narrow[shown]) == seen_wide


def is_part_of(some: list[str], words: list[str]) -> bool:
    """Return whether all of some words are among those, in order."""
    rest = iter(words)
    return all(word in rest for word in some)


@pytest.mark.parametrize("spoken", rest_slow(*LANGUAGES))
@pytest.mark.parametrize("players", rest_slow(3, 2, 4))
def test_no_label_of_the_panel_is_cut_off_at_the_least_size(players: int, spoken: str) -> None:
    finished = played(GameOptions(players), 3)
    with speaking(spoken):
        for moves in range(len(finished.events)):
            game = played(GameOptions(players), 3, moves)
            if game.view.turn is None:
                break
            ui, model = seen.client_of(game, game.view.turn, away=players - 1)
            panes = (Pane(ui, model, UNICODE, width, 99) for width in (30, 56))
            narrow, wide = map(seen.playing_of(ui).panel_block, panes)
            assert words(narrow) == words(wide)
        model = seen.model_of(finished, 0)
        for step in range(last_step(finished.view) + 1):
            shown = scene(finished.view, step, seen.NAMES)
            panes = (Pane(Ui("Ann"), model, UNICODE, width, 99) for width in (30, 56))
            narrow, wide = (ScoringPanel(shown, pane).block("1") for pane in panes)
            assert words(narrow) == words(wide)


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_headings_of_the_result_fit_their_columns_and_those_of_past_games_stand_apart(spoken: str) -> None:
    with speaking(spoken):
        for heading, room in RESULT_COLUMNS:
            assert get_cwidth(language._(heading)) <= room, heading
        heading = seen.screen_of(*PAGES["history"]())
        assert all(f"{language._(each)} " in heading for each in ("ENDED", "TABLE"))
