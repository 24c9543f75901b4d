"""The configuration of a command: from the command line, else from a TOML file, else the defaults.

The file's keys are the command's options. They are read off its parser, so that none can be missing.
"""

import argparse
import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from client.language import _
from commands.parsing import WrongUse
from commands.serving.options import Option, options_of
from commands.serving.toml import Line, entries_in, in_toml


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
        line = f"{key} = {in_toml(value)}  # {source if source.isprintable() else in_toml(source)}"
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
    for key, (value, line) in entries_in(file).items():
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
