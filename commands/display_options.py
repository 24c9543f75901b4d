"""Options of the commands that draw."""

import argparse

from client.language import _
from client.player.calling import Notices
from client.player.colouring import Colours, Theme


def add_display_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--name",
        help=_(
            "your name, as others see it (default: the one on the start screen, otherwise your login name)"
        ),
    )
    add_confirm(command)
    add_calling(command)
    add_drawing(command)


# These options may come before a command as well as after it: a command keeps what was given before it.


def add_confirm(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--confirm",
        action="store_true",
        default=argparse.SUPPRESS,
        help=_("ask for confirmation before every move"),
    )


def add_calling(command: argparse.ArgumentParser) -> None:
    """Add the options that say how the player is called when it is their turn."""
    command.add_argument(
        "--no-bell",
        dest="bell",
        action="store_false",
        default=argparse.SUPPRESS,
        help=_("do not ring when it is your turn"),
    )
    command.add_argument(
        "--no-title",
        dest="title",
        action="store_false",
        default=argparse.SUPPRESS,
        help=_("leave the window's title alone"),
    )
    command.add_argument(
        "--notices",
        choices=[notices.value for notices in Notices],
        default=argparse.SUPPRESS,
        help=_(
            "how the terminal shows desktop notices (default: as set on the start screen; initially auto)"
        ),
    )


def add_ascii(command: argparse.ArgumentParser, meaning: str) -> None:
    command.add_argument("--ascii", action="store_true", default=argparse.SUPPRESS, help=meaning)


def add_drawing(command: argparse.ArgumentParser) -> None:
    add_ascii(command, _("draw with ASCII characters only"))
    command.add_argument(
        "--theme",
        choices=[theme.value for theme in Theme],
        default=argparse.SUPPRESS,
        help=_(
            "the terminal's background (default: as the terminal reports; otherwise colours that suit both)"
        ),
    )
    command.add_argument(
        "--colours",
        choices=[colours.value for colours in Colours],
        default=argparse.SUPPRESS,
        help=_("how many colours the terminal has (default: as the terminal reports)"),
    )


def set_display_defaults(parser: argparse.ArgumentParser) -> None:
    """Set the defaults of the options that are given neither before nor after a command."""
    parser.set_defaults(
        confirm=False,
        ascii=False,
        theme=Theme.AUTO.value,
        colours=Colours.AUTO.value,
        bell=None,
        title=None,
        notices=None,
    )
