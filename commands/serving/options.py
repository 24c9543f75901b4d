"""The options of a command that a configuration file may set, as its parser declares them."""

import argparse
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from client.language import _
from commands.serving.toml import in_toml

_NOT_IN_FILES: Final = frozenset({"help", "lang", "config", "no-config", "print-config"})


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
            Kind.TEXT: _("{key} needs a string in quotation marks, not {value}"),
            Kind.TEXTS: _("{key} needs a list of strings in square brackets, not {value}"),
        }
        raise ValueError(texts[self.kind].format(key=self.key, value=in_toml(value)))

    def _text(self, text: str, folder: Path) -> Any:
        if not text or "\0" in text:
            raise ValueError(_("{key} is empty or contains a null character").format(key=self.key))
        if self.action.choices is not None and text not in self.action.choices:
            choices = ", ".join(map(str, self.action.choices))
            raise ValueError(
                _("{key} is one of {choices}, not {value}").format(
                    key=self.key, choices=choices, value=in_toml(text)
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


def _result(convert: Callable[[str], Any] | argparse.FileType | str | None) -> object:
    """Return the type that an option's text is converted to, or its name if it is imported for that alone."""
    if isinstance(convert, type) or convert is None:
        return convert
    return getattr(convert, "__annotations__", {}).get("return")
