"""Typed commands: their meaning, their completions, and the help on them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from client.language import N_, _
from client.typed_text import BadText, Misplaced, seats_meant
from client.ui.keys import Act, GoToStop, Handler, Pick
from client.ui.screens.action import Action, May, Meaning, Who
from client.ui.screens.actions import ACTIONS, BY_VERB, PAGES, remark
from client.ui.screens.arguments import PIECE
from client.ui.screens.menu import At
from client.ui.screens.replay import Replay, all_eyes, no_eyes
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece
from protocol import messages
from protocol.messages import NEW

HelpRow: TypeAlias = tuple[str, str]


def help_rows(actions: Iterable[Action]) -> tuple[HelpRow, ...]:
    """Return the help on these commands; neighbours with the same help share a row."""
    rows = [row for each in actions for row in ((each.typed, each.help), *each.more)]
    return tuple(
        (", ".join(typed for typed, _words in alike), words)
        for words, alike in groupby(rows, lambda row: row[1])
    )


def help_on_commands(at: At, replay: Replay | None = None) -> tuple[HelpRow, ...]:
    """Return the help on what everybody can type where the player is."""
    here = (each for each in ACTIONS if each.who is not Who.HOST and each.concerns(at))
    return help_rows(here) if replay is None else REPLAY_COMMANDS


def help_on_hosting(at: At, replay: Replay | None = None) -> tuple[HelpRow, ...]:
    """Return the help on what the host of the table can type besides."""
    here = (each for each in ACTIONS if each.who is Who.HOST and each.concerns(at))
    return help_rows(here) if replay is None else ()


REPLAY_COMMANDS: Final = (
    ("go 12, 12", N_("go to move 12")),
    ("go start, go end", N_("go to the start, to the end")),
    ("go scoring", N_("go to the first step of the scoring")),
    ("eyes 1, eyes Ann", N_("see what that seat saw")),
    ("eyes all, eyes none", N_("see everything; see what spectators saw")),
    ("say hello", N_("say something to the table, or in the lobby")),
    ("together", N_("at a table: lead the others, or follow who leads; again: stop")),
    ("study", N_("at a table: go on from here at a new table, open to all")),
    ("leave", N_("stop the analysis, or leave")),
    *help_rows(PAGES),
)

ReplayMeaning: TypeAlias = Handler | Act | Pick | GoToStop | messages.Say
_REPLAY_WORDS: Final = ("go ", "eyes ", "go start", "go scoring", "go end", "eyes all", "eyes none")
_PAGES: Final = tuple(page.verb for page in PAGES)


def meaning(text: str, at: At) -> Meaning:
    """Return what a line asks for; raises BadText if it makes no sense, Misplaced if it makes none here."""
    verb, rest = [*text.split(maxsplit=1), "", ""][:2]
    if not verb:
        raise BadText(_("Type a command, for example: {example}").format(example="m* C4"))
    if (action := BY_VERB.get(verb.lower())) is not None:
        return action.meaning(rest.strip(), at)
    if PIECE.fullmatch(verb) or (at.model.view is not None and len(rest.split()) == 1):
        return BY_VERB["place"].meaning(text, at)
    raise _no_command(text)


def _no_command(text: str) -> BadText:
    """Return that this is no command, and which is the nearest one that is."""
    from difflib import get_close_matches  # noqa: PLC0415 - few lines are mistyped

    line, words = text.strip(), text.split()
    known = sorted({*BY_VERB, *(each.split()[0] for each in _REPLAY_WORDS)})
    near = get_close_matches(words[0].lower(), known, 1) if words else []
    if near and near[0] != words[0].lower():
        text = _("'{line}' is not a command. Do you mean {word}?")
        return BadText(text.format(line=line, word=near[0]))
    return BadText(_("'{line}' is not a command. Type help for the list.").format(line=line))


def replay_meaning(text: str, replay: Replay) -> ReplayMeaning:
    """Return what a line asks for at a record; raises as `meaning` does."""
    recording = replay.recording
    words = text.split()
    seats = (str(seat + 1) for seat in recording.seats)
    match [word.lower() for word in words]:
        case [word] if word in {*_PAGES, "together", "leave"}:
            return Act[word.upper()]
        case ["study"] if replay.company is not None:
            return Act.STUDY
        case ["say", *_said] if replay.company is not None:
            return messages.Say(NEW, remark(text.partition(" ")[2].strip()))
        case ["go", "start"]:
            return Act.FIRST
        case ["go", "end"]:
            return Act.SKIP
        case ["go", "scoring"] if recording.over:
            return GoToStop(recording.end)
        case ["go", "scoring"]:
            raise Misplaced(_("This game has not been scored: the record ends before the scoring."))
        case ["go", number] | [number] if number.isascii() and number.isdigit():
            if len(number) < 4 and int(number) <= recording.moves:
                return GoToStop(int(number))
            form = _("There is no move {number}. Choose 0 to {last}.")
            raise BadText(form.format(number=number, last=recording.moves))
        case ["eyes", "all"]:
            return all_eyes
        case ["eyes", "none"]:
            return no_eyes
        case ["eyes", *_] if meant := seats_meant(" ".join(words[1:]), recording.names):
            return Pick(meant[0] + 1)
        case ["eyes", *_]:
            raise BadText(_("Type eyes and one of: {eyes}.").format(eyes=", ".join(("all", "none", *seats))))
        case ["go", *_]:
            form = _("Type go and a move from 0 to {last}, or start, scoring or end.")
            raise BadText(form.format(last=recording.moves))
    raise _no_command(text)


def completions(text: str, at: At, replay: Replay | None = None) -> tuple[str, ...]:
    """Return the lines that `text` could be completed to, the likeliest first."""
    wanted = text.lower()
    lines = (*_moves(at, text), *_commands(at)) if replay is None else tuple(_of_replay(replay))
    return tuple(line for line in lines if line.lower().startswith(wanted) and line.lower() != wanted)


def _of_replay(replay: Replay) -> Iterator[str]:
    names = replay.recording.names
    called = (name for seat, name in enumerate(names) if seats_meant(name, names)[:1] == [seat])
    yield from _REPLAY_WORDS
    yield from (f"eyes {who}" for who in (*(str(seat + 1) for seat in replay.recording.seats), *called))
    yield from ("together", *(() if replay.company is None else ("study",)), "leave", *_PAGES)


def _commands(at: At) -> Iterator[str]:
    """Yield all that the player can do now, as it is typed."""
    for action in ACTIONS:
        if action.may(at) is May.YES:
            yield from action.lines(at)


def _moves(at: At, text: str) -> Iterator[str]:
    """Yield the moves that can be typed now: whole ones after a complete first word."""
    model, (first, space) = at.model, text.partition(" ")[:2]
    match model.legal:
        case LegalPlaces():
            own = "" if model.view is None else model.view.start.peoples[model.legal.seat][0]
            spellings = [spelling for piece in model.legal.pieces for spelling in _spellings(piece, own)]
            if space:
                yield from (f"{first} {field}" for field in model.legal.fields if first in spellings)
            else:
                yield from (f"{spelling} " for spelling in spellings)
        case LegalLays():
            ways = [f"lay {position} " for position in model.legal.positions]
            yield from ways
            if space:
                yield from (f"{way}{turns}" for way in ways for turns in model.legal.orientations)


def _spellings(piece: Piece, own: str) -> tuple[str, ...]:
    """Return how the piece can be typed: those of the seat's own people need no letter (R3.5)."""
    return (piece[1:], str(piece)) if piece.people == own else (str(piece),)


def shared_start(lines: Sequence[str]) -> str:
    shortest = min(lines, key=len)
    same = next((at for at, letter in enumerate(shortest) if any(each[at] != letter for each in lines)), None)
    return shortest[:same]
