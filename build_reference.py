"""The pages in docs/reference: what the code itself says of options, limits, log lines, codes and keys.

    python build_reference.py

In the pages marked as such, the last column of a table is written by hand: what is there is kept, row by row.
"""

import argparse
import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeAlias, get_args, get_origin

import msgspec

from client.language import speak
from client.player.folders import data_folder
from client.ui.keys import Key, key_name
from client.ui.lessons.course import Lesson
from client.ui.screens.evening import EveningPage
from client.ui.screens.gathering import Gathering
from client.ui.screens.history import HistoryPage
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import Form, Menu
from client.ui.screens.overlays import TalkPage
from client.ui.screens.playing import LAYING_KEYS, PLACING_KEYS, Ended
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import Result, Scoring
from client.ui.screens.search import Search
from client.ui.screens.start import Start
from client.ui.solving import ProblemPage
from client.ui.texts.glyphs import UNICODE
from commands.help import RARE
from commands.serving.serve import usual_file
from engine.errors import Fault
from gateway.limits import GuestLimits
from palatinus import build_parser
from protocol import limits, messages
from protocol.codes import Code
from server.config import Limits

ROOT: Final = Path(__file__).parent
FOLDER: Final = ROOT / "docs" / "reference"
_SCREENS: Final = ROOT / "tests" / "client" / "ui" / "screens"
_MADE: Final = "<!-- Made by `python build_reference.py`{}. -->"
_SCREEN: Final = "screen"  # the heading of the options that many commands have
_BY_HAND: Final = "; the last column is written by hand"

Row: TypeAlias = Sequence[str]
Explain: TypeAlias = Callable[..., str]


def page_text(name: str) -> str:
    """Return the page of this name, with what is written by hand as it is now."""
    speak("en")
    return PAGES[name](_explanations(FOLDER / name))


def _explanations(page: Path) -> Explain:
    """Return what gives the last column of the row that begins with these cells."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    known: dict[tuple[str, ...], str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for end in range(1, len(cells)):
            known.setdefault(tuple(cells[:end]), cells[-1])
    return lambda *cells: known.get(cells) or known.get(cells[:1], "")


def _table(heading: Row, rows: Iterable[Row]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (heading, ["---"] * len(heading), *rows))


def _page(title: str, about: str, parts: Iterable[str], *, by_hand: bool = False) -> str:
    made = _MADE.format(_BY_HAND if by_hand else "")
    return "\n\n".join([f"# {title}", made, about, *(part.strip("\n") for part in parts if part)]) + "\n"


def _code(word: object) -> str:
    return f"`{str(word).replace('|', chr(92) + '|')}`"


# Commands and their options


def _commands(_explain: Explain) -> str:
    about = (
        "Every command with its arguments and options, as `--help-all` shows them. Every command also takes "
        "`--help`, `--help-all` and `--lang`. The commands that play take the [options of the "
        "screen](#palatinus) too, before or after the command."
    )
    return _page("Commands and options", about, _command_sections("palatinus", build_parser()))


def _command_sections(name: str, command: Any) -> Iterator[str]:
    if declare := getattr(command, "declare", None):
        declare()
    level = min(2 + name.count(" "), 3)
    yield f"{'#' * max(2, level)} {name}"
    yield _in_documents(command.description)
    below: dict[str, Any] = {}
    rows: dict[str, list[Row]] = {"": []}
    for group in command._action_groups:
        heading = "" if group.title in {"options", "positional arguments"} else str(group.title)
        for action in group._group_actions:
            if isinstance(action.choices, dict):
                below = action.choices
            elif not {"--help", "--help-all", *RARE} & {*action.option_strings}:
                meaning = command._get_formatter()._expand_help(action)
                rows.setdefault(heading, []).append((_arguments(action), _in_documents(meaning)))
    for heading, found in rows.items():
        if found and (heading != _SCREEN or name == "palatinus"):
            yield f"**{heading.capitalize()}**" if heading else ""
            yield _table(("argument", "what it does"), found)
    for word, each in below.items():
        if word != "help" and each.prog == f"{name} {word}":  # not an old name
            yield from _command_sections(each.prog, each)


def _arguments(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return _code(action.metavar or action.dest)
    names = [*action.option_strings]
    if action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction):
        names[-1] += f" [{value}]" if action.nargs == "?" else f" {value}"
    elif action.choices:
        names[-1] += f" [{value}]"
    return ", ".join(map(_code, names))


def _in_documents(text: str) -> str:
    """Return a text of the help without this computer's folders."""
    text = text.replace(str(usual_file()), "serve.toml in the user's configuration folder")
    text = text.replace(str(data_folder()), "the user's data folder")
    return text.replace("|", "\\|").replace("*", "\\*")


# Limits


_ADDRESSES: Final = (
    "An *address* is an IPv4 address or an IPv6 /64 network, because one household has all addresses of such "
    "a network. All addresses of a /56 together may have twice the limit for one address, and those of a /48 "
    "four times; but at most half of all connections and of all ssh guests, unless the limit for one address "
    "is higher."
)


def _limits(explain: Explain) -> str:
    def rows(found: Mapping[str, object]) -> Iterator[Row]:
        for name, value in found.items():
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            yield _code(name), shown, explain(_code(name), shown)

    def defaults(of: Any) -> dict[str, object]:
        return {each.name: getattr(of, each.name) for each in fields(of)}

    heading = ("limit", "default", "what it limits, and what happens when it is reached")
    on_the_wire = {name: value for name, value in vars(limits).items() if name.isupper()}
    on_the_wire["VERSIONS"] = limits.VERSIONS[-1]
    return _page(
        "Limits",
        "The server limits every resource that strangers can use, and never bans an address without being "
        "told to. If a limit has an option, the table names it; the other values suit every game. Times are "
        "in seconds.",
        (
            "## The server",
            _ADDRESSES,
            _table(heading, rows(defaults(Limits()))),
            "## Messages",
            "The limits on messages are the same for every server.",
            _table(("limit", "value", "of what"), rows(on_the_wire)),
            "## Guests over ssh",
            _table(heading, rows(defaults(GuestLimits()))),
        ),
        by_hand=True,
    )


# Lines of the log


def log_lines() -> dict[tuple[str, str], set[str]]:
    """Return the fields of each line, by its text and level, wherever server and ssh gateway log."""
    found: dict[tuple[str, str], set[str]] = {}
    texts: dict[str, str] = {}
    for file in (
        file for folder in ("server", "pages", "gateway") for file in sorted((ROOT / folder).rglob("*.py"))
    ):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    ast.Attribute(ast.Name("log"), level),
                    [ast.Constant(str(event))],
                    [ast.keyword("extra", ast.Call(keywords=about)), *_],
                ):
                    level = "error" if level == "exception" else level
                    found.setdefault((event, level), set()).update(str(field.arg) for field in about)
                case ast.Call(
                    ast.Attribute(attr="log" | "log_end"),
                    [ast.Attribute(ast.Name("log"), level), text, *_],
                    about,
                ):  # of a failure that may come again
                    event = str(text.value) if isinstance(text, ast.Constant) else texts[ast.unparse(text)]
                    level = "error" if level == "exception" else level
                    found[event, level] = {"failures", *(str(field.arg) for field in about)}
                case ast.Assign([ast.Name(name)], ast.Constant(str(value))):
                    texts[name] = value
                case ast.Call(ast.Attribute(ast.Name("log")), [_, *_]):
                    raise ValueError(f"{file}:{node.lineno}: an event is a text, and its fields are `about`")
    return found


def _log(explain: Explain) -> str:
    rows = (
        (_code(event), level, ", ".join(map(_code, sorted(about))), explain(_code(event), level))
        for (event, level), about in sorted(log_lines().items())
    )
    return _page(
        "Lines of the log",
        "Seats count from 0 in the log, as in the protocol. [The guide](../operator-reference.md#logs) says "
        "how to turn lines on, and what they never contain.",
        [_table(("event", "level", "fields", "what it means, and what to do"), rows)],
        by_hand=True,
    )


# Codes of refusals


def _codes(explain: Explain) -> str:
    def rows(codes: Iterable[Code | Fault]) -> Iterator[Row]:
        for code in codes:
            yield _code(code.value), _in_documents(code.text), explain(_code(code.value))

    return _page(
        "Codes of refusals",
        "A [refusal](messages.md#refused) has a code and `about`, the facts in braces in its sentence.",
        (
            _table(("code", "sentence", "when"), rows(Code)),
            "Refusals by the rules of the game also have `rule`:",
            _table(("code", "sentence", "when"), rows(Fault)),
        ),
        by_hand=True,
    )


# Screens and their keys

_WITH_KEYS: Final[Mapping[str, tuple[Sequence[Key], str]]] = {
    "The start screen": (Start.own_keys, "start"),
    "The settings, and hosting": (Form.own_keys, "settings-en"),
    "Servers on your network": (Search.own_keys, ""),
    "The lobby": (LobbyPage.own_keys, "lobby-talk"),
    "A new table": (Form.own_keys, "new-table"),
    "A table before the game": (Gathering.own_keys, ""),
    "The table's menu": (Menu.own_keys, ""),
    "Laying tiles": (LAYING_KEYS, ""),
    "Placing pieces": (PLACING_KEYS, ""),
    "The scoring": (Scoring.own_keys, "scoring-piece"),
    "The result": (Result.own_keys, ""),
    "A game ended by its host": (Ended.own_keys, ""),
    "Past games": (HistoryPage.own_keys, ""),
    "A record": (Replay.own_keys, "replay-placing"),
    "A problem": (ProblemPage.own_keys, ""),
    "A lesson": (Lesson.own_keys, ""),
    "What was said": (TalkPage.own_keys, ""),
    "An evening": (EveningPage.own_keys, ""),
}


def _screens(_explain: Explain) -> str:
    def parts() -> Iterator[str]:
        for title, (keys, picture) in _WITH_KEYS.items():
            yield f"## {title}"
            if picture:
                text = (_SCREENS / f"{picture}-80x24.txt").read_text(encoding="utf-8")
                yield f"```text\n{re.sub(r' *[|]$', '', text, flags=re.MULTILINE).rstrip()}\n```"
            yield _table(("key", "what it does"), _key_rows(keys))

    about = (
        "Every screen with its keys, at 80 columns by 24 lines. `?` shows those that work at the moment; a "
        "click on a word in the bottom line does the same as its key."
    )
    return _page("Screens and their keys", about, parts())


def _key_rows(keys: Sequence[Key]) -> Iterator[Row]:
    """Yield a row for each thing to do; several keys for the same stand together, without the mouse's."""
    rows: dict[str, list[str]] = {}
    for key in keys:
        names = [name for name in key.names if not name.startswith(("scroll", "click"))]
        if names and key.help:
            shown = rows.setdefault(key.words, [])
            shown += [name for name in (key_name(each, UNICODE) for each in names) if name not in shown]
    for words, shown in rows.items():
        yield " ".join(map(_code, shown)), _in_documents(words)


# Messages


def _messages(_explain: Explain) -> str:
    """Return the page as it is, with the fields of each message as they are now."""
    text = (FOLDER / "messages.md").read_text(encoding="utf-8")
    for heading, union in (
        ("From client to server", messages.ClientMessage),
        ("From server to client", messages.ServerMessage),
    ):
        start = text.index(f"## {heading}\n")
        end = text.find("\n## ", start) + 1
        part = text[start:end]
        for message in get_args(union):
            head = f"### {message.__struct_config__.tag}\n"
            if head not in part:
                part += f"{head}{inspect.getdoc(message)}\n\n| field | type | |\n|---|---|---|\n\n"
            before, _head, after = part.partition(head)
            about, table, rest = re.split(r"((?:^\|.*\n)+)", after, maxsplit=1, flags=re.MULTILINE)
            part = f"{before}{head}{about}{_fields(message, table)}{rest}"
        text = text[:start] + part + text[end:]
    return text


def _fields(message: Any, table: str) -> str:
    """Return the rows of a message's fields: those that there were, and new ones with their type."""
    heading, line, *rows = table.splitlines(keepends=True)
    known = {"id": "| id | id | |\n", **{row.split("|")[1].strip(): row for row in rows}}
    news = msgspec.structs.fields(message)
    return "".join(
        [heading, line, *(known.get(each.name, f"| {each.name} | {type_of(each)} |  |\n") for each in news)]
    )


_TYPES: Final = {
    bool: "boolean",
    int: "integer",
    str: "string",
    messages.SeatNumber: "seat",
    messages.TableCode: "table code",
    messages.FieldName: "field",
    messages.PieceName: "piece",
}


def type_of(field: msgspec.structs.FieldInfo) -> str:
    """Return the type of a message's field, with its default, in the words of the page."""
    if field.required:
        return _type(field.type)
    empty = field.default is msgspec.NODEFAULT or field.default in ("", ())
    default = "empty" if empty else msgspec.json.encode(field.default).decode().replace("null", "nil")
    return f"{_type(field.type)}, default {default}"


def _type(kind: Any) -> str:
    kinds = [each for each in get_args(kind) if each is not NoneType]
    origin = get_origin(kind)
    if kind in _TYPES:
        return _TYPES[kind]
    if origin is typing.Annotated:
        return _type(kinds[0])
    if origin in {types.UnionType, typing.Union}:
        words = " or ".join(dict.fromkeys(map(_type, kinds)))
        return words if len(kinds) == len(get_args(kind)) else f"{words} or nil"
    if origin in {list, tuple}:
        return f"array of {_type(kinds[0])}s"
    return "string" if origin is typing.Literal else "map"


# The glossary


def terms() -> tuple[list[str], list[tuple[list[list[str]], str]]]:
    """Return the languages, and each term's names in these with what it means."""
    text = (ROOT / "client" / "languages" / "terms.txt").read_text(encoding="utf-8")
    (*languages, _), *rows = (line.split(" | ") for line in text.splitlines())
    return languages, [([names.split(", ") for names in row[:-1]], row[-1]) for row in rows]


def _glossary(_explain: Explain) -> str:
    (english, *languages), known = terms()
    rows = [(names[0], meaning, *(each[0] for each in others)) for (names, *others), meaning in known]
    rows.sort(key=lambda row: re.sub("^(the|to) ", "", row[0]))
    return _page(
        "Glossary",
        "One name for one thing, in every language. `client/languages/terms.txt` is where to change it.",
        [_table((english, "", *languages), rows)],
    )


PAGES: Final[Mapping[str, Callable[[Explain], str]]] = {
    "commands.md": _commands,
    "limits.md": _limits,
    "log.md": _log,
    "codes.md": _codes,
    "screens.md": _screens,
    "messages.md": _messages,
    "glossary.md": _glossary,
}


if __name__ == "__main__":
    for page in PAGES:
        (FOLDER / page).write_text(page_text(page), encoding="utf-8")
