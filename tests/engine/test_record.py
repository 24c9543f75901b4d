"""Records replay to the same events, and damage is refused with line and reason."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DamagedRecord
from engine.game import Game, GameOptions
from engine.record import LINE_LENGTH, names_in, recorded, replayed
from tests.cases import cases
from tests.games import MOST_COMMANDS, games, played

RECORDS = sorted((Path(__file__).parent / "records").glob("*.txt"))
DOCUMENT = Path(__file__).parents[2] / "docs" / "record.md"

LAID = recorded(played(GameOptions(3), seed=1).events)
TWO = recorded(played(GameOptions(2), seed=4, commands=9).events)
RANDOM = recorded(played(GameOptions(5, random_layout=True), seed=2).events)
SHARED = recorded(played(GameOptions(3), seed=1, shared=True).events)


def line_number(text: str, line: str) -> int:
    return text.split("\n").index(line) + 1


def first(text: str, pattern: str) -> str:
    """Return the first line of `text` that matches."""
    return next(line for line in text.split("\n") if re.fullmatch(pattern, line))


def refusal(text: str) -> DamagedRecord:
    with pytest.raises(DamagedRecord) as refused:
        replayed(text)
    return refused.value


@given(games())
def test_a_record_replays_to_the_same_events(game: Game) -> None:
    again = replayed(recorded(game.events))
    assert again.events == game.events
    assert again.view == game.view


@given(st.lists(st.text(), max_size=5))
def test_no_name_damages_a_record(names: list[str]) -> None:
    """Names stay in their comments, whatever characters they have."""
    game = played(GameOptions(5), 1, commands=9)
    assert replayed(recorded(game.events, names)).events == game.events


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_kept_records_still_replay(path: Path) -> None:
    """A change of rules or format that alters a stored game must be intended."""
    text = path.read_text(encoding="utf-8")
    assert recorded(replayed(text).events) == text


def test_the_documented_example_replays() -> None:
    blocks = re.findall(r"```record\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    names = ["Anna", "Ben", "Zoë"]
    assert recorded(replayed(blocks[0]).events, names) == blocks[0]


@pytest.mark.parametrize(
    "text",
    [
        LAID.replace("\n", "\r\n"),
        LAID.rstrip("\n"),
        LAID.replace("\n", "\n\n# a remark, né?\n"),
        LAID.replace(" ", "   "),
        "\n  # before all\n" + LAID,
    ],
    ids=["Windows lines", "no last newline", "comments", "spaces", "comment first"],
)
def test_a_record_may_be_laid_out_freely(text: str) -> None:
    assert replayed(text).events == replayed(LAID).events


@given(st.sampled_from([LAID, RANDOM]), st.data())
def test_a_cut_record_is_refused(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text) - 2))
    assert refusal(text[:cut]).line <= text[:cut].count("\n") + 2


def test_the_missing_end_is_named_with_its_line() -> None:
    """A record cut between lines is refused where the next line should be, even between draw and lay."""
    lines = LAID.split("\n")
    refused = refusal("\n".join(lines[:20]) + "\n")
    assert refused.line == 21
    assert "the record ends" in str(refused)
    assert refusal("").line == 1
    lay = lines.index(first(LAID, r"\d lays .*"))
    assert refusal("\n".join([*lines[: lay + 1], "unfinished"])).line == lay + 2


@pytest.mark.parametrize(
    ("record", "pattern", "replacement", "reason"),
    [
        *cases(__file__, "damage"),
        ("LAID", r"players 3", f"players {'9' * 150}", "not a number"),
        ("LAID", r"seat 1 S", f"seat 1 {'S' * 190}", "found `S{60}...`"),
        ("LAID", r"(.) places .*", "\\1 places Em\u202e A1", r"U\+202E"),
        ("LAID", r"(.) places .*", "\\1 places Em\tA1", r"U\+0009"),
        ("LAID", r"(.) places .*", "#" * (LINE_LENGTH + 1), "201 characters"),
    ],
)
def test_damage_is_refused_with_its_line(record: str, pattern: str, replacement: str, reason: str) -> None:
    text = {"LAID": LAID, "TWO": TWO, "RANDOM": RANDOM, "SHARED": SHARED}[record]
    sound = first(text, pattern)
    refused = refusal(text.replace(sound, re.sub(pattern, replacement, sound), 1))
    assert refused.line == line_number(text, sound)
    assert re.search(reason, str(refused))
    assert len(str(refused)) < 300


def test_a_record_without_draws_has_none_of_their_lines() -> None:
    """Version 1 knows neither commitment nor shares nor seed."""
    without = SHARED.replace("record 2", "record 1")
    assert refusal(without).line == line_number(without, first(without, r"starts .*"))
    for line in ("commitment " + "a" * 64, "seed " + "a" * 64):
        assert "expected" in str(refusal(LAID.replace("layout laid", f"{line}\nlayout laid")))


def test_peoples_are_read_as_the_record_has_them() -> None:
    """The same game in other colours replays, too, with the same result."""
    colours = str.maketrans("ESLMA", "AMSLE")
    other = re.sub(
        r"(?m)^(seat \d |\d places )(\w+)", lambda found: found[1] + found[2].translate(colours), LAID
    )
    assert first(other, r"seat 0 .*") == "seat 0 A"
    assert recorded(replayed(other).events) == other
    assert replayed(other).view.result == replayed(LAID).view.result


def test_what_the_rules_forbid_is_refused_in_their_words() -> None:
    """R3.3, R4.1: a tile that is laid is no longer in the bag, and a field is taken only once."""
    draw, tile = first(LAID, r"2 draws ."), first(LAID, r"tile . 0 0")[5]
    assert refusal(LAID.replace(draw, f"2 draws {tile}")).line == line_number(LAID, draw)
    one, other = [line for line in LAID.split("\n") if " places " in line][:2]
    field = one.split()[-1]
    refused = refusal(LAID.replace(other, " ".join([*other.split()[:-1], field])))
    assert refused.line == line_number(LAID, other)
    assert str(refused).endswith(f"{field} is taken. Choose an empty field.")


@pytest.mark.parametrize("end", ["unfinished", "palatinus record 1", "winners 0"])
def test_nothing_follows_the_end(end: str) -> None:
    assert refusal(LAID + end).line == LAID.count("\n") + 1
    running = recorded(played(GameOptions(2), seed=3, commands=9).events)
    assert refusal(running + end).line == running.count("\n") + 1


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A record with lines or characters lost, repeated, changed or moved."""
    game = played(
        draw(st.sampled_from([GameOptions(2), GameOptions(4, random_layout=True)])),
        5,
        draw(st.integers(0, MOST_COMMANDS)),
        shared=draw(st.booleans()),
    )
    lines = recorded(game.events).split("\n")
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        column = draw(st.integers(0, len(line)))
        character = draw(st.sampled_from("0123456789ABCDEFGmfs* #\r\n\t\x00é\ud800٣²") | st.characters())
        match draw(st.sampled_from(["lose", "repeat", "swap", "cut", "insert", "change"])):
            case "lose":
                lines[at : at + 1] = []
            case "repeat":
                lines.insert(draw(st.integers(0, len(lines))), line)
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "cut":
                lines[at] = line[:column] + line[column + 1 :]
            case "insert":
                lines[at] = line[:column] + character + line[column:]
            case "change":
                lines[at] = line[:column] + character + line[column + 1 :]
        lines = lines or [""]
    return "\n".join(lines)


@given(damaged())
def test_a_damaged_record_is_refused_or_tells_another_game(text: str) -> None:
    """Whatever happens to a record: DamagedRecord, or a game whose own record is sound."""
    try:
        game = replayed(text)
    except DamagedRecord:
        return
    assert replayed(recorded(game.events)).events == game.events


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    assert refusal(text).line >= 1


def test_names_are_read_from_lines_that_a_record_may_have() -> None:
    """Finding the end of a name in a line of 63 KB took 20 seconds."""
    names = "# seat 0 is Ann\r\n # seat 1 is Bob Smith  \n", f"# seat 2 is {'x ' * 30_000}y\n# seat 3 is\n"
    assert names_in("".join(names)) == {0: "Ann", 1: "Bob Smith"}
