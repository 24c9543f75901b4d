"""The configuration of a command: from the command line, else from a TOML file, else the defaults.

The file's keys are the command's options. They are read off its parser, so that none can be missing.
"""

import argparse
import enum
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from client.language import _
from commands.parsing import WrongUse

_NOT_IN_FILES: Final = frozenset({"help", "lang", "config", "no-config", "print-config"})
_MOST_BYTES: Final = 64 * 1024
_WHERE: Final = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)")


class Kind(enum.Enum):
    """What TOML calls the values of an option."""

    SWITCH = enum.auto()
    NUMBER = enum.auto()
    FRACTION = enum.auto()
    TEXT = enum.auto()
    TEXTS = enum.auto()


_KINDS: Final[Mapping[object, Kind]] = {int: Kind.NUMBER, float: Kind.FRACTION}


@dataclass(frozen=True, slots=True)
class Default:
    """A default that can be told from the same value given on the command line."""

    value: Any

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command, and what a file calls it; those of a `group` exclude each other."""

    key: str
    action: argparse.Action
    group: object

    @property
    def default(self) -> Any:
        default = self.action.default
        return default.value if isinstance(default, Default) else default

    @property
    def kind(self) -> Kind:
        if isinstance(self.action, argparse.BooleanOptionalAction):
            return Kind.SWITCH
        if isinstance(self.action, argparse._AppendAction):  # noqa: SLF001 - it has no public name
            return Kind.TEXTS
        return _KINDS.get(_result(self.action.type), Kind.TEXT)

    def converted(self, value: object, folder: Path) -> Any:
        """Return what a value in a file in `folder` means; raises ValueError with a sentence."""
        match self.kind, value:
            case Kind.SWITCH, bool():
                return value
            case Kind.NUMBER, int() if not isinstance(value, bool):
                return self._typed(str(value))
            case Kind.FRACTION, int() | float() if not isinstance(value, bool):
                return self._typed(str(value))
            case Kind.TEXT, str():
                return self._text(value, folder)
            case Kind.TEXTS, list() if all(isinstance(each, str) for each in value):
                return [self._text(each, folder) for each in value]
        texts = {
            Kind.SWITCH: _("{key} is either true or false, not {value}"),
            Kind.NUMBER: _("{key} needs a whole number without quotation marks, not {value}"),
            Kind.FRACTION: _("{key} needs a number without quotation marks, not {value}"),
            Kind.TEXT: _("{key} needs a text in quotation marks, not {value}"),
            Kind.TEXTS: _("{key} needs a list of texts in square brackets, not {value}"),
        }
        raise ValueError(texts[self.kind].format(key=self.key, value=_toml(value)))

    def _text(self, text: str, folder: Path) -> Any:
        if not text or "\0" in text:
            raise ValueError(_("{key} has an empty text or one with a null character").format(key=self.key))
        if self.action.choices is not None and text not in self.action.choices:
            choices = ", ".join(map(str, self.action.choices))
            raise ValueError(
                _("{key} is one of {choices}, not {value}").format(
                    key=self.key, choices=choices, value=_toml(text)
                )
            )
        if self.action.type is not Path:
            return self._typed(text)
        try:
            return folder / Path(text).expanduser()
        except RuntimeError as error:  # ~ of somebody who does not exist
            raise ValueError(f"{self.key}: {error}") from error

    def _typed(self, text: str) -> Any:
        convert = self.action.type
        if not callable(convert):
            return text
        try:
            return convert(text)
        except argparse.ArgumentTypeError as error:
            raise ValueError(f"{self.key}: {error}") from error


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
        """Tell whether this is a switch that stays off, as it is by default."""
        return self.value is False and self.option.default is False


def add_switch(command: argparse._ActionsContainer, *names: str, help: str, on: bool = False) -> None:  # noqa: A002 - argparse's own word
    """Add an option that is on or off, as `on` says by default."""
    # The default is set afterwards: otherwise the action would add it to the help in English.
    command.add_argument(*names, action=argparse.BooleanOptionalAction, help=help).default = on


def mark_defaults(command: argparse.ArgumentParser) -> None:
    """Let the defaults of all options of `command` be told from what is given."""
    for option in options_of(command):
        if option.action.default is not None:
            option.action.default = Default(option.action.default)


def options_of(command: argparse.ArgumentParser) -> list[Option]:
    """Return the options that a file may set, in the order of the help."""
    # argparse has no public list of what was declared.
    groups = {
        id(action): group
        for group in command._mutually_exclusive_groups  # noqa: SLF001
        for action in group._group_actions  # noqa: SLF001
    }
    keyed = (
        (next((name[2:] for name in action.option_strings if name.startswith("--")), ""), action)
        for action in command._actions  # noqa: SLF001
    )
    return [
        Option(key, action, groups.get(id(action), action))
        for key, action in keyed
        if key and key not in _NOT_IN_FILES
    ]


def settings(
    command: argparse.ArgumentParser, arguments: argparse.Namespace, file: Path | None
) -> list[Setting]:
    """Return what every option of `command` is set to; raises WrongUse with every mistake in the file."""
    options = options_of(command)
    given = [
        Setting(option, getattr(arguments, option.action.dest), Source.COMMAND_LINE)
        for option in options
        if getattr(arguments, option.action.dest) is not option.action.default
    ]
    in_file = [] if file is None else _read(file, options).values()
    chosen = {
        setting.option.key: setting
        for setting in (
            *(setting for setting in in_file if not any(_exclude(setting, other) for other in given)),
            *given,
        )
    }
    return [chosen.get(option.key) or _by_default(option, chosen.values()) for option in options]


def _by_default(option: Option, others: Iterable[Setting]) -> Setting:
    setting = Setting(option, option.default, Source.DEFAULT)
    excluded = any(_exclude(setting, other) for other in others)
    return replace(setting, value=None) if excluded else setting


def namespace_of(found: Sequence[Setting]) -> argparse.Namespace:
    """Return the values by the names that the parser gives them."""
    return argparse.Namespace(**{setting.option.action.dest: setting.value for setting in found})


def printed(found: Sequence[Setting]) -> Iterator[str]:
    """Yield the lines of a TOML file with these settings; raises WrongUse if one cannot be written."""
    for setting in found:
        key, value = setting.option.key, setting.value
        if value is None:
            yield "# " + _("{key} is not set").format(key=key)
            continue
        if isinstance(value, Path) or setting.option.action.type is Path:
            value = Path(value).absolute()  # a relative one would be relative to the new file
        source = _described(setting.source)
        line = f"{key} = {_toml(value)}  # {source if source.isprintable() else _toml(source)}"
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


def _result(convert: Callable[[str], Any] | argparse.FileType | str | None) -> object:
    """Return the type that an option's text is converted to."""
    from typing import get_type_hints

    return convert if isinstance(convert, type) or convert is None else get_type_hints(convert).get("return")


def _read(file: Path, options: Sequence[Option]) -> dict[str, Setting]:
    import tomllib

    text = _text_of(file)
    try:
        entries = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUse(_not_toml(file, text, error)) from error
    lines = _lines_of_keys(text)
    known = {option.key: option for option in options}
    found: dict[str, Setting] = {}
    mistakes = []
    for key, value in entries.items():
        line = Line(file, lines[key])
        try:
            found[key] = _setting(key, value, line, known, found.values())
        except ValueError as error:
            mistakes.append(f"{line}: {error}" if str(error).endswith("?") else f"{line}: {error}.")
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
    setting = Setting(option, option.converted(value, line.file.absolute().parent), line)
    for other in others:
        if _exclude(setting, other):
            text = _("{key} and {other} exclude each other: leave out one of them")
            raise ValueError(text.format(key=key, other=other.option.key))
    return setting


def _exclude(one: Setting, other: Setting) -> bool:
    """Tell whether only one of two options can be in use; a switch left off excludes nothing."""
    return one.option.group is other.option.group and not (one.left_off or other.left_off)


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


def _why_not_an_option(key: str, value: object, known: Collection[str]) -> str:
    from difflib import get_close_matches

    if isinstance(value, dict):
        text = _("{key} is a section, and there are none: write all options above it, without a heading")
        return text.format(key=key)
    if key == "password":
        return _(
            "the password belongs in a file of its own: write it there, and set password-file to its path"
        )
    if similar := get_close_matches(key.replace("_", "-"), known, 1):
        return _("{key} is not an option. Did you mean {similar}?").format(key=key, similar=similar[0])
    return _("{key} is not an option. See palatinus serve --help").format(key=key)


def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the line of each key in valid TOML; tomllib does not tell."""
    import tomllib

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


def _toml(value: object) -> str:
    import json

    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{_toml(key)} = {_toml(each)}' for key, each in value.items())}}}"
    # JSON's escapes are TOML's; TOML wants one for DEL as well.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
