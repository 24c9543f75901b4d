"""Refusals in the player's language: every code has its sentence, filled in with what the server tells."""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from client.language import speak
from client.refusals import CLOSINGS, SENTENCES, describe_refusal
from engine.errors import Fault, IllegalCommand
from protocol.codes import Code
from protocol.messages import Refused
from tests.engine.test_game import REFUSALS

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _italian() -> Iterator[None]:
    speak("it")
    yield
    speak("en")


def test_every_code_has_a_sentence_that_needs_no_facts() -> None:
    """The last sentence of each code can always be said."""
    assert {*SENTENCES} == {*Code, *Fault}
    for sentences in SENTENCES.values():
        assert not any(field for _, field, _, _ in Formatter().parse(sentences[-1]))


@pytest.mark.parametrize("fault", Fault)
def test_what_the_engine_refuses_is_told_as_precisely(fault: Fault) -> None:
    """Its words are known, filled in with its facts; but whose turn it is stands on the screen anyway."""
    if fault is Fault.NOT_YOUR_TURN:
        return
    for game, command, expected, _ in REFUSALS:
        if expected is fault:
            with pytest.raises(IllegalCommand) as refused:
                game.apply(command)
            assert said_precisely(Refused(fault, str(refused.value), about=refused.value.about))


def said_precisely(refused: Refused) -> bool:
    """Tell whether the sentence in the player's language says what the server's does, fact by fact."""
    about = refused.about or {}
    return any(
        sentence.format(**about) == refused.text
        for sentence in SENTENCES[refused.code]
        if {name for _, name, _, _ in Formatter().parse(sentence) if name} <= {*about}
    )


def test_why_connections_are_closed_is_told() -> None:
    """Every reason that the server gives is in the catalogues."""
    source = (ROOT / "server" / "net" / "conversation.py").read_text(encoding="utf-8")
    assert {*CLOSINGS} == {*re.findall(r'Goodbye\(CloseCode\.\w+, "([^"]+)"\)', source)}


def test_english_players_read_the_servers_words() -> None:
    speak("en")
    refused = Refused("field-taken", "C4 was quicker than you.", about={"field": "C4"})
    assert describe_refusal(refused) == "C4 was quicker than you."


def test_the_facts_are_filled_in() -> None:
    """What the server says in words that are known is said as precisely."""
    text = "Position 3 is taken. Choose one of 4, 5."
    told = describe_refusal(Refused("position-taken", text, about={"position": "3", "free": "4, 5"}))
    assert told != text
    assert "3" in told
    assert "4, 5" in told


def test_other_words_than_known_are_said_in_general() -> None:
    """A newer server may say more, or tell other facts."""
    general = describe_refusal(Refused("position-taken", "?"))
    assert general != "?"
    assert describe_refusal(Refused("position-taken", "Not there!", about={"where": "3"})) == general


def test_a_code_of_a_newer_server_is_told_in_its_words() -> None:
    assert describe_refusal(Refused("too-late", "Too \x1blate.")) == "Too \\x1blate."


def test_facts_are_safe_to_show() -> None:
    """A server of bad will has no way to the terminal."""
    text = "Table \x1b[2J{table} is closed."
    assert "\x1b" not in describe_refusal(Refused("no-such-table", text, about={"table": "\x1b[2J"}))
    closed = "Table \x1b[2J is closed."
    assert "\x1b" not in describe_refusal(Refused("no-such-table", closed, about={"table": "\x1b[2J"}))
