"""TOML as tomllib reads it, with what that does not tell, and as people write it."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from client.language import _
from commands.parsing import WrongUse

_MOST_BYTES: Final = 64 * 1024
_WHERE: Final = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True)
class Line:
    """Where a file sets an option."""

    file: Path
    number: int

    def __str__(self) -> str:
        return _("{file}, line {line}").format(file=self.file, line=self.number)


def entries_in(file: Path) -> Mapping[str, tuple[Any, Line]]:
    """Return what a file says by keys, and where; raises WrongUse if it cannot be read or is not TOML."""
    text = _text_of(file)
    try:
        entries = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUse(_not_toml(file, text, error)) from error
    lines = _lines_of_keys(text)
    return {key: (value, Line(file, lines[key])) for key, value in entries.items()}


def in_toml(value: object) -> str:
    """Return a value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(map(in_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{in_toml(key)} = {in_toml(each)}' for key, each in value.items())}}}"
    # JSON's escapes are TOML's; TOML wants one for DEL as well.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            reason = _("it is longer than {most} bytes").format(most=_MOST_BYTES)
        else:
            return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or _("it is not UTF-8 text")
        raise WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=reason)) from error
    raise WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=reason))


def _not_toml(file: Path, text: str, error: Exception) -> str:
    at = _WHERE.fullmatch(str(error))
    where, reason = str(file), str(error)
    if at is not None:
        where, reason = str(Line(file, int(at[2] or len(text.rstrip().splitlines())))), at[1]
    return _("{where}: this is not TOML: {reason}").format(where=where, reason=reason) + "."


def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the line of each key in valid TOML; tomllib does not tell."""
    lines: dict[str, int] = {}
    statement, began, in_section = "", 1, False
    for number, line in enumerate(text.split("\n"), start=1):
        statement += f"{line}\n"
        try:
            keys = tomllib.loads(statement)
        except ValueError:  # it goes on in the next line
            continue
        heading = statement.lstrip().startswith("[")
        if heading or not in_section:
            for key in keys:
                lines.setdefault(key, began)
        in_section |= heading
        statement, began = "", number + 1
    return lines
