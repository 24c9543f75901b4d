"""What can be typed at a record, as `ACTIONS` has what can be typed at a table."""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from client.language import N_, _
from client.typed_text import BadText, Misplaced, seats_meant
from client.ui.keys import Act, GoToStop, Pick
from client.ui.screens.action import AT_TABLES, Action, Meaning, Who, either, exactly
from client.ui.screens.actions import PAGES, SAY
from client.ui.screens.menu import At
from client.ui.screens.replay import Replay, all_eyes, no_eyes


def record_at(at: At) -> Replay:
    """Return the record on the screen: only there these commands are known."""
    assert isinstance(at.ui.page, Replay)  # noqa: S101
    return at.ui.page


def _has_company(at: At) -> bool:
    return record_at(at).company is not None


_WALK: Final = {"start": Act.FIRST, "end": Act.SKIP}


def _go(text: str, at: At) -> Meaning:
    recording, word = record_at(at).recording, text.lower()
    if word in _WALK:
        return _WALK[word]
    if word == "scoring":
        if not recording.over:
            raise Misplaced(_("This game has not been scored: the record ends before the scoring."))
        return GoToStop(recording.end)
    if word.isascii() and word.isdigit():
        if len(word) < 4 and int(word) <= recording.moves:
            return GoToStop(int(word))
        form = _("There is no move {number}. Choose 0 to {last}.")
        raise BadText(form.format(number=word, last=recording.moves))
    form = _("Type go and a move from 0 to {last}, or start, scoring or end.")
    raise BadText(form.format(last=recording.moves))


_EYES: Final = {"all": all_eyes, "none": no_eyes}


def _eyes(text: str, at: At) -> Meaning:
    recording, word = record_at(at).recording, text.lower()
    if word in _EYES:
        return _EYES[word]
    if meant := seats_meant(text, recording.names):
        return Pick(meant[0] + 1)
    eyes = (*_EYES, *(str(seat + 1) for seat in recording.seats))
    raise BadText(_("Type eyes and one of: {eyes}.").format(eyes=", ".join(eyes)))


def _every_eyes(at: At) -> Iterator[str]:
    recording = record_at(at).recording
    names = recording.names
    yield from ("...", *_EYES, *(str(seat + 1) for seat in recording.seats))
    yield from (name for seat, name in enumerate(names) if seats_meant(name, names)[:1] == [seat])


GO: Final = Action(
    "go 12, 12",
    N_("go to move 12"),
    _go,
    more=(
        ("go start, go end", N_("go to the start, to the end")),
        ("go scoring", N_("go to the first step of the scoring")),
    ),
    texts=either("...", "start", "scoring", "end"),
    who=Who.ANYBODY,
)
RECORD_ACTIONS: Final[tuple[Action, ...]] = (
    GO,
    Action(
        "eyes 1, eyes Ann",
        N_("see what that seat saw"),
        _eyes,
        more=(("eyes all, eyes none", N_("see everything; see what spectators saw")),),
        texts=_every_eyes,
        who=Who.ANYBODY,
    ),
    structs.replace(SAY, stages=AT_TABLES, possible=_has_company),
    Action(
        "together",
        N_("at a table: lead the others, or follow the leader; again: stop"),
        exactly("", Act.TOGETHER),
        who=Who.ANYBODY,
    ),
    Action(
        "study",
        N_("at a table: continue from here at a new table, open to all"),
        exactly("", Act.STUDY),
        who=Who.ANYBODY,
        possible=_has_company,
    ),
    Action("leave", N_("stop the analysis, or leave"), exactly("", Act.LEAVE), who=Who.ANYBODY),
    *PAGES,
)
