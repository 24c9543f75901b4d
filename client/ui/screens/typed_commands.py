"""Typed commands: their meaning, their completions, and the help on them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from msgspec import structs

from client.language import N_, _
from client.tables.table import TableModel
from client.typed_text import BadText, Misplaced
from client.ui.screens.action import Action, May, Meaning, Who, exactly
from client.ui.screens.actions import ACTIONS, LEAVE, PAGES, PLACE
from client.ui.screens.arguments import PIECE
from client.ui.screens.menu import At
from client.ui.screens.record_commands import GO, RECORD_ACTIONS
from client.ui.screens.replay import Replay
from client.ui.state import GamePage, Outcome, Ui
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece

HelpRow: TypeAlias = tuple[str, str]

_BY_VERB: Final = {action.verb: action for action in ACTIONS}


def _leave(_screen: object, ui: Ui, _model: TableModel) -> Outcome:
    return ui, ui.way_back


_OF_GAMES: Final = (  # those that mean something at a game outside any server
    *(_BY_VERB[verb] for verb in ("place", "lay")),
    structs.replace(_BY_VERB["hint"], help=N_("show the solution")),
    structs.replace(LEAVE, help=N_("leave"), read=exactly("", _leave)),
    _BY_VERB["count"],
)


def help_rows(actions: Iterable[Action]) -> tuple[HelpRow, ...]:
    """Return the help on these commands; neighbours with the same help share a row."""
    rows = [row for each in actions for row in ((each.typed, each.help), *each.more)]
    return tuple(
        (", ".join(typed for typed, _words in alike), words)
        for words, alike in groupby(rows, lambda row: row[1])
    )


def help_on_commands(at: At) -> tuple[HelpRow, ...]:
    """Return the help on the commands that everybody can type on this page.

    In a game against bots alone, what is for company is left out.
    """
    known = (each for each in _known(at) if not (each.for_company and at.ui.offers.private))
    return help_rows(each for each in known if each.who is not Who.HOST and each.concerns(at))


def help_on_hosting(at: At) -> tuple[HelpRow, ...]:
    """Return the help on the host's own commands, for the host.

    There is none in a game against bots alone, where nobody needs it.
    """
    hosts = at.model.state is not None and at.model.seat == at.model.state.host
    if not hosts or at.ui.offers.private:
        return ()
    return help_rows(each for each in _known(at) if each.who is Who.HOST and each.concerns(at))


def _known(at: At) -> tuple[Action, ...]:
    """Return the commands that mean something where the player is, if not now."""
    page = at.ui.page
    if isinstance(page, Replay):
        return tuple(action for action in RECORD_ACTIONS if action.possible(at))
    if isinstance(page, GamePage):
        return (*(action for action in _OF_GAMES if action.verb in page.commands), *PAGES)
    return ACTIONS if page.at_server else PAGES


def is_command(word: str, at: At) -> bool:
    return any(each.verb == word and each.concerns(at) for each in _known(at))


def meaning(text: str, at: At) -> Meaning:
    """Return the request that a line stands for; raises BadText, or Misplaced if it is for another page."""
    verb, rest = [*text.split(maxsplit=1), "", ""][:2]
    if not verb:
        raise BadText(_("Type a command, for example: {example}").format(example="m* C4"))
    verbs = {action.verb: action for action in _known(at)}
    if (action := verbs.get(verb.lower())) is not None:
        return action.meaning(rest.strip(), at)
    if (elsewhere := _BY_VERB.get(verb.lower())) is not None and not isinstance(at.ui.page, Replay):
        if "lobby" in elsewhere.stages:
            raise Misplaced(_("That works in the lobby of a server or at a table, not here."))
        raise Misplaced(_("You are not at a table. Open or join one first."))
    if (unnamed := _without_verb(verb, rest, at)) is not None:
        return unnamed.meaning(text.strip(), at)
    raise _no_command(text, verbs)


def _without_verb(first: str, rest: str, at: At) -> Action | None:
    """Return the command that a line means whose first word is no verb: a move, or the number of one."""
    if isinstance(at.ui.page, Replay):
        return GO if first.isascii() and first.isdigit() and not rest else None
    moves = PIECE.fullmatch(first) or (at.model.view is not None and len(rest.split()) == 1)
    return PLACE if moves else None


def _no_command(text: str, verbs: Iterable[str]) -> BadText:
    """Return that this is no command, and which is the nearest one that is."""
    from difflib import get_close_matches  # noqa: PLC0415 - few lines are mistyped

    line, first = text.strip(), text.split(maxsplit=1)[0].lower()
    near = get_close_matches(first, sorted(verbs), 1)
    if near:
        text = _("'{line}' is not a command. Do you mean {word}?")
        return BadText(text.format(line=line, word=near[0]))
    return BadText(_("'{line}' is not a command. Type help for the list.").format(line=line))


def completions(text: str, at: At) -> tuple[str, ...]:
    """Return the lines that `text` could be completed to, the likeliest first."""
    wanted = text.lower()
    moves = () if isinstance(at.ui.page, Replay) else _moves(at, text)
    lines = (*moves, *_commands(at))
    return tuple(line for line in lines if line.lower().startswith(wanted) and line.lower() != wanted)


def _commands(at: At) -> Iterator[str]:
    """Yield all that the player can do now, as it is typed."""
    for action in _known(at):
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
