"""Absence policies and starting players as users type them; refusals and closings in their language."""

import re
from string import Formatter

import pytest
from hypothesis import given

from client.language import LANGUAGES, speak
from client.network.refusals import describe_closing, describe_refusal
from client.typed_text import (
    BadText,
    Invitation,
    fault_of,
    invitation,
    policy_named,
    seat_to_start,
    seats_meant,
)
from engine.components import DEALS
from engine.errors import Fault, IllegalCommand
from protocol.absence import Absence, ByBot, ByVote, GameClock, LongClock, MoveClock, Wait, move_clock
from protocol.codes import REFUSAL_TEXTS, CloseReason, Code
from protocol.messages import Refused
from protocol.text import TextFault
from tests.engine.test_game import REFUSALS
from tests.protocol.messages import policies


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("wait", Wait()),
        ("move-clock:60", MoveClock(60)),
        ("game-clock:30m", GameClock(30 * 60)),
        ("vote:2m", ByVote(2 * 60)),
        ("bot:60s", ByBot(60)),
        ("bot:0", ByBot(0)),
        ("game-clock:7d", GameClock(7 * 24 * 3600)),
        ("move-clock:1d", MoveClock(24 * 3600)),
        ("move-clock:1d12h", LongClock(36 * 3600)),
        ("move-clock:12h+2d", LongClock(12 * 3600, reserve=48 * 3600)),
    ],
)
def test_policies_have_names(text: str, policy: Absence) -> None:
    assert policy_named(text) == policy


@pytest.mark.parametrize(
    ("text", "seats"),
    [
        ("3", [2]),
        ("5", [4]),
        ("6", [2]),
        ("bob", [3]),
        ("12", [4]),
        ("1", [0]),
        ("", []),
        ("0", []),
        ("zed", []),
    ],
)
def test_a_number_is_a_seat_and_all_else_a_name(text: str, seats: list[int]) -> None:
    assert seats_meant(text, ["3", None, "6", "Bob", "12"]) == seats


def test_bots_may_be_named_without_their_levels() -> None:
    """But not where somebody else has that name."""
    names = ["Ann", "Livia (consul)", "Rufus (slave)", "Rufus"]
    assert seats_meant("livia", names) == seats_meant("Livia (Consul)", names) == [1]
    assert seats_meant("rufus", names) == [3]


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("palatinus join ws://192.0.2.7:7733 KXQT", Invitation("ws://192.0.2.7:7733", "KXQT")),
        (
            "$ palatinus join wss://rome.example/hills kxqt --watch",
            Invitation("wss://rome.example:7733/hills", "KXQT"),
        ),
        ("http://192.0.2.7:7733/", Invitation("ws://192.0.2.7:7733")),
        ("http://rome.example/play/KXQT#secret", Invitation("ws://rome.example:80", "KXQT")),
        (
            "https://rome.example/hills/watch/ABCDEFGH?lang=it",
            Invitation("wss://rome.example:443/hills", "ABCDEFGH"),
        ),
        ("https://rome.example/play/EVENING", Invitation("wss://rome.example:443")),
        ("HTTP://[::1]:7733/tv", Invitation("ws://[::1]:7733")),
        (" rome.example:99 KXQT ", Invitation("ws://rome.example:99", "KXQT")),
        ("localhost", Invitation("ws://localhost:7733")),
        ("palatinus join attic", Invitation("", name="attic")),
        ("palatinus", Invitation("", name="palatinus")),
        ("Anna's laptop KXQT", Invitation("", name="Anna's laptop KXQT")),
    ],
)
def test_whatever_a_friend_sends_is_understood(sent: str, meant: Invitation) -> None:
    assert invitation(sent) == meant


@pytest.mark.parametrize(
    "sent", ["", "--watch", "http://h:99999/", "ftp://h/", "ws://h:1 KXQT 3", "ws://h:1 K"]
)
def test_what_no_friend_sends(sent: str) -> None:
    with pytest.raises(BadText):
        invitation(sent)


@given(policies)
def test_every_policy_can_be_typed(policy: Absence) -> None:
    """Every policy that the wire allows can be written and read."""
    match policy:
        case Wait():
            written = "wait"
        case LongClock(seconds, reserve):
            written, policy = f"move-clock:{seconds}+{reserve}s", move_clock(seconds, reserve)
        case _:
            written = f"{policy.__struct_config__.tag}:{policy.seconds}"
    assert policy_named(written) == policy


@pytest.mark.parametrize(
    "text",
    [
        *("", "waits", "wait:3", "bot", "bot:", "bot:1w", "bot:-1", "Bot:60", "bot:²", "bot:1d12"),
        "move-clock:1d+",
    ],
)
def test_an_unknown_policy_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(BadText, match="Write wait, move-clock:60"):
        policy_named(text)


@pytest.mark.parametrize(
    "text",
    [
        *("move-clock:4", "game-clock:29", "game-clock:8d", "vote:25h", "bot:86401", "move-clock:31d"),
        "move-clock:1d+31d",
    ],
)
def test_seconds_have_bounds(text: str) -> None:
    """The refusal has them as they are typed."""
    with pytest.raises(BadText, match=r"Choose (5s|30s|0) to (1|7|30)d\."):
        policy_named(text)


@pytest.mark.parametrize("players", DEALS)
def test_seats_count_from_one(players: int) -> None:
    """R3.1: any seat or a random one can start; the player who opens the table has the first seat."""
    assert [seat_to_start(str(seat + 1), players) for seat in range(players)] == [*range(players)]
    assert seat_to_start("me", players) == 0
    assert seat_to_start("random", players) is None


@pytest.mark.parametrize("text", ["0", "4", "-1", "01", "two", "", "Me"])
def test_an_invalid_starting_seat_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadText) as caught:
        seat_to_start(text, 3)
    assert str(caught.value) == f"{text!r} does not say who starts. Write random, me, or a seat from 1 to 3."


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
