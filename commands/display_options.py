"""Options of the commands that draw."""

import argparse
import sys
from typing import Any

from client.language import _
from client.player.terminal import Colours, DesktopNotices, Theme
from client.ui.texts.glyphs import speaks_unicode


def add_display_options(command: argparse.ArgumentParser) -> None:
    meaning = _(
        "your name, as others see it (default: the one on the start screen, otherwise your login name)"
    )
    command.add_argument("--name", help=meaning)
    add_drawing(command, playing=True)


def add_ascii(command: Any, meaning: str) -> None:
    command.add_argument("--ascii", action="store_true", default=argparse.SUPPRESS, help=meaning)


def prints_ascii(arguments: argparse.Namespace) -> bool:
    """Return whether standard output gets ASCII characters only, as asked for or as it takes no others."""
    return arguments.ascii or not speaks_unicode(sys.stdout.encoding or "")


def add_drawing(command: argparse.ArgumentParser, *, playing: bool = False) -> None:
    """Add the options of a command that shows a screen.

    They may come before a command as well as after it: a command keeps what was given before it.
    """
    group = command.add_argument_group(_("screen"), argument_default=argparse.SUPPRESS)
    meaning = _("print lines of text and read typed lines: for screen readers, slow lines and scripts")
    group.add_argument("--plain", action="store_true", help=meaning)
    if playing:
        meaning = _("ask for confirmation before every move")
        group.add_argument("--confirm", action="store_true", help=meaning)
        meaning = _("do not ring when it is your turn")
        group.add_argument("--no-bell", dest="bell", action="store_false", help=meaning)
        meaning = _("leave the window's title alone")
        group.add_argument("--no-title", dest="title", action="store_false", help=meaning)
        meaning = _(
            "how the terminal shows desktop notices (default: as set on the start screen; initially auto)"
        )
        group.add_argument("--notices", choices=[notices.value for notices in DesktopNotices], help=meaning)
    add_ascii(group, _("draw with ASCII characters only"))
    meaning = _(
        "the terminal's background (default: as the terminal reports; otherwise colours that suit both)"
    )
    group.add_argument("--theme", choices=[theme.value for theme in Theme], help=meaning)
    meaning = _("how many colours the terminal has (default: as the terminal reports)")
    group.add_argument("--colours", choices=[colours.value for colours in Colours], help=meaning)


def set_display_defaults(parser: argparse.ArgumentParser) -> None:
    """Set the defaults of the options that are given neither before nor after a command."""
    parser.set_defaults(
        confirm=False,
        plain=False,
        ascii=False,
        theme=Theme.AUTO.value,
        colours=Colours.AUTO.value,
        bell=None,
        title=None,
        notices=None,
    )
