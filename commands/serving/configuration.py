"""The configuration of `palatinus serve`: from the command line, else from a TOML file, else the defaults."""

import argparse
import enum
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from client.language import N_, _, labelled
from commands.parsing import CANNOT_READ, WrongUse, using_file
from commands.serving.options import Option, ServeOptions, serve_options

_MOST_BYTES: Final = 64 * 1024
_WHERE: Final = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)")
_NOT_OF_ITS_KIND: Final[Mapping[type, str]] = {
    bool: N_("{key} is either true or false, not {value}"),
    int: N_("{key} needs a whole number without quotation marks, not {value}"),
    float: N_("{key} needs a number without quotation marks, not {value}"),
    str: N_("{key} needs a string in quotation marks, not {value}"),
    Path: N_("{key} needs a string in quotation marks, not {value}"),
    list: N_("{key} needs a list of strings in square brackets, not {value}"),
}

_IN_FILES: Final[Mapping[type, Any]] = {Path: str, list: list[str]}


@dataclass(frozen=True, slots=True)
class Line:
    """Where a file sets an option."""

    file: Path
    number: int

    def __str__(self) -> str:
        return _("{file}, line {line}").format(file=self.file, line=self.number)


class Source(enum.Enum):
    """Where a value comes from if not from a file."""

    COMMAND_LINE = enum.auto()
    DEFAULT = enum.auto()


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of an option, None if it has none, and where it comes from."""

    option: Option
    value: Any
    source: Line | Source

    @property
    def left_off(self) -> bool:
        """Return whether this is a switch that stays off, as it is by default."""
        return self.value is False and self.option.default is False


def settings(given: argparse.Namespace, file: Path | None) -> list[Setting]:
    """Return what every option is set to; raises WrongUse with every mistake in the file."""
    options = serve_options()
    chosen = {
        option.key: Setting(option, value, Source.COMMAND_LINE)
        for option in options
        if (value := getattr(given, option.name)) is not None
    }
    in_file = [] if file is None else _read(file, options).values()
    for setting in in_file:
        if not any(_exclude(setting, other) for other in chosen.values()):
            chosen.setdefault(setting.option.key, setting)
    return [chosen.get(option.key) or _by_default(option, chosen.values()) for option in options]


def _by_default(option: Option, others: Iterable[Setting]) -> Setting:
    setting = Setting(option, option.default, Source.DEFAULT)
    excluded = any(_exclude(setting, other) for other in others)
    return Setting(option, None, Source.DEFAULT) if excluded else setting


def options_in(found: Sequence[Setting]) -> ServeOptions:
    return ServeOptions(**{setting.option.name: setting.value for setting in found})


def printed(found: Sequence[Setting]) -> Iterator[str]:
    """Yield the lines of a TOML file with these settings; raises WrongUse if one cannot be written."""
    for setting in found:
        key, value = setting.option.key, setting.value
        if value is None:
            yield "# " + _("{key} is not set").format(key=key)
            continue
        if isinstance(value, Path):
            value = value.absolute()  # a relative one would be relative to the new file
        source = _described(setting.source)
        line = f"{key} = {_in_toml(value)}  # {source if source.isprintable() else _in_toml(source)}"
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise WrongUse(_("{key} is set to something that is not Unicode").format(key=key)) from error
        yield line


def _described(source: Line | Source) -> str:
    match source:
        case Source.COMMAND_LINE:
            return _("from the command line")
        case Source.DEFAULT:
            return _("default")
        case Line():
            return str(source)


def _read(file: Path, options: Sequence[Option]) -> dict[str, Setting]:
    known = {option.key: option for option in options}
    found: dict[str, Setting] = {}
    mistakes = []
    for key, (value, line) in _entries_in(file).items():
        try:
            found[key] = _setting(key, value, line, known, found.values())
        except ValueError as error:
            mistakes.append(labelled(str(line), str(error) if str(error).endswith("?") else f"{error}."))
    if mistakes:
        raise WrongUse("\n".join(mistakes))
    return found


def _setting(
    key: str, value: object, line: Line, known: Mapping[str, Option], others: Iterable[Setting]
) -> Setting:
    """Return what an entry sets; raises ValueError with a sentence if it cannot."""
    option = known.get(key)
    if option is None:
        raise ValueError(_why_not_an_option(key, value, known))
    setting = Setting(option, _converted(option, value, line.file.absolute().parent), line)
    for other in others:
        if _exclude(setting, other):
            text = _("{key} and {other} exclude each other: leave out one of them")
            raise ValueError(text.format(key=key, other=other.option.key))
    return setting


def _converted(option: Option, value: Any, folder: Path) -> Any:
    """Return what a value in a file in `folder` means; raises ValueError with a sentence."""
    try:
        msgspec.convert(value, _IN_FILES.get(option.kind, option.kind))
    except msgspec.ValidationError:
        text = _(_NOT_OF_ITS_KIND[option.kind])
        raise ValueError(text.format(key=option.key, value=_in_toml(value))) from None
    if option.kind is list:
        return [_read_word(option, each) for each in value]
    return value if option.kind is bool else _read_word(option, str(value), folder)


def _read_word(option: Option, word: str, folder: Path = Path()) -> Any:
    key = option.key
    if not word or "\0" in word:
        raise ValueError(_("{key} is empty or contains a null character").format(key=key))
    if option.choices and word not in option.choices:
        text = _("{key} is one of {choices}, not {value}")
        choices = ", ".join(option.choices)
        raise ValueError(text.format(key=key, choices=choices, value=_in_toml(word)))
    try:
        return folder / Path(word).expanduser() if option.kind is Path else option.convert(word)
    except (argparse.ArgumentTypeError, RuntimeError) as error:  # RuntimeError: ~ of nobody
        raise ValueError(labelled(key, str(error))) from error


def _exclude(one: Setting, other: Setting) -> bool:
    """Return whether only one of two options can be in use; a switch left off excludes nothing."""
    same = bool(one.option.only) and one.option.only == other.option.only
    return same and not (one.left_off or other.left_off)


def _why_not_an_option(key: str, value: object, known: Collection[str]) -> str:
    if isinstance(value, dict):
        text = _(
            "{key} is a section, but sections are not supported: write all options above it, "
            "without a heading"
        )
        return text.format(key=key)
    if key == "password":
        return _(
            "the password belongs in a file of its own: write it there, and set password-file to its path"
        )
    if similar := get_close_matches(key.replace("_", "-"), known, 1):
        return _("{key} is not an option. Did you mean {similar}?").format(key=key, similar=similar[0])
    return _("{key} is not an option. See palatinus serve --help").format(key=key)


def _entries_in(file: Path) -> Mapping[str, tuple[Any, Line]]:
    """Return what a file says by keys, and where; raises WrongUse if it cannot be read or is not TOML."""
    text = _text_of(file)
    try:
        entries = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUse(_not_toml(file, text, error)) from error
    lines = _lines_of_keys(text)
    return {key: (value, Line(file, lines[key])) for key, value in entries.items()}


def _in_toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(map(_in_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{_in_toml(key)} = {_in_toml(each)}' for key, each in value.items())}}}"
    # JSON's escapes are TOML's; TOML wants one for DEL as well.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _text_of(file: Path) -> str:
    with using_file(CANNOT_READ, file), file.open("rb") as opened:
        data = opened.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            return data.decode("utf-8")
    reason = _("it is longer than {most} bytes").format(most=_MOST_BYTES)
    raise WrongUse(_(CANNOT_READ).format(file=file, reason=reason))


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
