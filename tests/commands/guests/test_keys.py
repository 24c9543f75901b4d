"""Keys are read as prompt_toolkit reads them; what would make it slow or large does neither here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from commands.guests import identity
from commands.guests.keys import KeyReader


def read(*texts: str) -> list[KeyPress]:
    """Return the keys in these texts, after each of which nothing comes for a while."""
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    for text in texts:
        reader.feed(text)
        reader.flush()
    return keys


def as_the_library(text: str) -> list[KeyPress]:
    keys: list[KeyPress] = []
    Vt100Parser(keys.append).feed_and_flush(text)
    return keys


# The library knows two terminals whose keys begin with two Escs; the pairs mean Esc and a key here.
SEQUENCES = sorted(
    sequence
    for sequence, keys in ANSI_SEQUENCES.items()
    if not sequence.startswith("\x1b\x1b") and keys not in {Keys.BracketedPaste, Keys.Ignore}
)


def test_every_key_of_every_terminal_is_known() -> None:
    for sequence in SEQUENCES:
        assert read(sequence) == as_the_library(sequence)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b",
        "\x1bx",
        "\x1b[I",
        "\x1b[O",
        "\x1b[<0;80;24M",
        "\x1b[<35;1;1m",
        "\x1b[M !!",
        "àé漢",
        "\x1b[200~ave\x1b[201~",
    ],
    ids=repr,
)
def test_other_input_is_read_as_usual(text: str) -> None:
    assert read(text) == as_the_library(text)


@given(st.lists(st.sampled_from([each for each in SEQUENCES if len(each) > 2] + ["a", "é", "\x1b[<0;8;4M"])))
def test_keys_may_come_in_any_pieces(sequences: list[str]) -> None:
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    for character in "".join(sequences):
        reader.feed(character)
    assert keys == [key for sequence in sequences for key in read(sequence)]


@given(st.text(alphabet="\x1b[]OPM<0;?~\x07\\ax\r"))
def test_whatever_comes_what_is_kept_is_bounded_and_keys_go_on(text: str) -> None:
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    reader.feed(text)
    reader.feed("\x1b[201~" + "\x07" + "\x1b\\" + "!!!")
    reader.flush()
    reader.feed("\rz")
    assert keys[-1].key == "z"


def test_what_never_ends_is_dropped() -> None:
    assert read("\x1b[" + "1;" * 1000 + "a")[-1].key == "a"
    assert read("\x1b]" + "x" * 5000)[-1].key == "x"
    pasted = read("\x1b[200~" + "x" * 5000 + "\x1b[201~z")
    assert [key.key for key in pasted] == [Keys.BracketedPaste, "z"]
    assert len(pasted[0].data) == 4096


def test_a_sequence_without_end_is_not_kept() -> None:
    reader = KeyReader(lambda _key: None)
    reader.feed("\x1b[" + "0" * 1000)
    assert len(reader._sequence) <= 32


def test_a_word_is_not_a_key() -> None:
    """Nobody has somebody else's seats by typing the fingerprint of their key."""
    assert identity.of_word("abc") != identity.of_key("abc")
    assert identity.of_word("Bado") == identity.of_word("bado")
