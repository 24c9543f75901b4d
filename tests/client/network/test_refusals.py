"""Refusals and close reasons in the player's language: one sentence for each code, with all facts."""

import re
from string import Formatter

import pytest

from client.language import LANGUAGES, speak
from client.network.refusals import describe_closing, describe_refusal
from client.typed_text import fault_of
from engine.errors import Fault, IllegalCommand
from protocol.codes import REFUSAL_TEXTS, CloseReason, Code
from protocol.messages import Refused
from protocol.text import TextFault
from tests.engine.test_game import REFUSALS

pytestmark = pytest.mark.usefixtures("in_language")
CODES = [*Code, *Fault]


def facts_in(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_every_code_has_its_own_sentence() -> None:
    """No two sentences are the same."""
    assert {*REFUSAL_TEXTS} == {*CODES}
    assert len({*REFUSAL_TEXTS.values()}) == len(CODES)
    assert {f"name-{fault}" for fault in TextFault} <= {*Code}
    assert {f"text-{fault}" for fault in TextFault} <= {*Code}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_is_put_into_words_in_every_language(language: str) -> None:
    """All facts are in the sentence, with seats counted from 1."""
    speak(language)
    for code in CODES:
        facts = {name: "7" if "seat" in name else f"<{name}>" for name in facts_in(REFUSAL_TEXTS[code])}
        sentence = describe_refusal(Refused(code, "", about=facts))
        assert sentence, code
        assert not re.search(r"[{}]", sentence), code
        for name, fact in facts.items():
            assert ("8" if "seat" in name else fact) in sentence, code
        if language != "en":
            assert sentence != REFUSAL_TEXTS[code]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_be_stored_is_for_the_host_or_passes(language: str) -> None:
    """A full disk does not get better by trying again; a database that is restarted does."""
    speak(language)
    lasting, passing = Refused(Code.NOT_STORED, ""), Refused(Code.NOT_STORED, "", about={"seconds": "2"})
    sentences = [describe_refusal(refused) for refused in (lasting, passing)]
    assert len({*sentences}) == 2
    english = ["so nothing has changed. Tell the host.", "so nothing has changed. Try again in a moment."]
    told = [sentence.endswith(ending) for sentence, ending in zip(sentences, english, strict=True)]
    assert told == [language == "en"] * 2


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("reason", CloseReason)
def test_every_close_reason_is_put_into_words_in_every_language(language: str, reason: CloseReason) -> None:
    speak(language)
    assert (describe_closing(reason) == reason.text) == (language == "en")


@pytest.mark.parametrize("fault", Fault)
def test_the_engine_gives_every_fact_of_its_sentences(fault: Fault) -> None:
    """This holds for every command it refuses."""
    found = [(game, command) for game, command, expected, _ in REFUSALS if expected is fault]
    assert found or fault is Fault.NOTHING_TO_TAKE_BACK  # which no command leads to
    for game, command in found:
        with pytest.raises(IllegalCommand) as refused:
            game.apply(command)
        assert facts_in(fault.text) <= {*refused.value.about}


def test_what_a_strange_server_says_is_safe_to_show() -> None:
    """A newer one may have more codes or other facts, a hostile one control characters and odd seats."""
    assert "\x1b" not in describe_refusal(Refused(Code.TABLE_CLOSED, "", about={"table": "\x1b[2J"}))
    assert "\x1b" not in describe_refusal(Refused(Code.TABLE_CLOSED, "\x1b[2J")) + describe_closing("\x1b[2J")
    about = {"seat": "-1", "seconds": "x"}
    assert describe_refusal(Refused(Code.TOO_EARLY, "", about=about)).count("-1") == 1
    speak("it")
    assert describe_refusal(Refused("too-late", "Too \x1blate.")) == "Too \\x1blate."
    assert describe_refusal(Refused("position-taken", "Not there.", about={"where": "3"})) == "Not there."


def test_the_client_refuses_a_name_in_the_same_words() -> None:
    speak("it")
    refused = Refused(Code.NAME_UNPRINTABLE, "", about={"character": "U+0007"})
    assert fault_of("\a") == describe_refusal(refused)
