"""Names in sentences."""

from client.ui.texts.names import OwnName, in_sentences


def test_bots_are_called_without_their_levels_where_that_names_one_player_alone() -> None:
    own = OwnName("Livia (consul)")
    told = in_sentences([own, "Rufus (slave)", "Titus (slave)", "titus", "Bob (mobile)"])
    assert told == ("Livia (consul)", "Rufus", "Titus (slave)", "titus", "Bob (mobile)")
    assert told[0] is own
