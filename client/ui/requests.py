"""What a player can ask for at the screen, besides the game's own commands."""

from typing import TypeAlias

from msgspec import Struct

from engine.events import Command
from engine.pieces import People, Seat
from protocol.absence import WAIT, Absence
from protocol.settings import Setting


class Refresh(Struct, frozen=True):
    """Ask for the list of tables."""


class Open(Struct, frozen=True):
    """Open a table for `players`; `starting` is the seat that starts, None for a draw."""

    players: int
    random_layout: bool = False
    starting: Seat | None = None
    absence: Absence = WAIT
    private: bool = False
    hints: bool = False
    people: People | None = None


class Join(Struct, frozen=True):
    """Take a seat at a table."""

    table: str


class Watch(Struct, frozen=True):
    """Watch a table."""

    table: str


class Start(Struct, frozen=True):
    """Start the game (host only)."""


class SeatBot(Struct, frozen=True):
    """Seat a bot of the server at this table; one for beginners unless a level is named."""

    level: str | None = None


class Rematch(Struct, frozen=True):
    """Play again with the same players."""


class WatchNext(Struct, frozen=True):
    """Leave this table, and watch the one where its players play again."""

    table: str


class Vote(Struct, frozen=True):
    """Agree, or no longer agree, that a bot plays for a seat."""

    seat: int
    agree: bool


class SayReady(Struct, frozen=True):
    """Say that this player is ready for the game, or no longer."""

    on: bool


class ChangeSeat(Struct, frozen=True):
    """Move to a free seat."""

    seat: int


class ChoosePeople(Struct, frozen=True):
    """Choose the people that this player plays; None for one that is left."""

    people: People | None


class AskPause(Struct, frozen=True):
    """Ask for a pause, or agree to one; or end it, or take that back."""

    on: bool


class Hint(Struct, frozen=True):
    """Suggest a move."""


class Review(Struct, frozen=True):
    """Look through the finished game; have it analysed, too, if that is wanted."""

    analysed: bool = False


class Analyse(Struct, frozen=True):
    """Begin to analyse the game that is looked through."""


class StopAnalysis(Struct, frozen=True):
    """End the analysis, and keep what there is of it."""


class SaveRecord(Struct, frozen=True):
    """Write the finished game's record to a file."""


class SavePicture(Struct, frozen=True):
    """Write a picture of the finished game's board to a file."""


class Set(Struct, frozen=True):
    """Change a setting of the table."""

    setting: Setting


class Remove(Struct, frozen=True):
    """Remove the player of a seat, or a bot."""

    seat: int


class Dismiss(Struct, frozen=True):
    """Remove the spectator with this number."""

    spectator: int


class HandOver(Struct, frozen=True):
    """Make the player of a seat the host."""

    seat: int


class Arrange(Struct, frozen=True):
    """Give the seats in another order; without one, shuffle them."""

    order: tuple[int, ...] | None


class Substitute(Struct, frozen=True):
    """Make a bot play for an absent player."""

    seat: int


class EndGame(Struct, frozen=True):
    """End the game without a result."""


class Rename(Struct, frozen=True):
    """Take another name; `then` is what was refused under the old one."""

    name: str
    then: "Open | Join | Watch | None" = None


class Say(Struct, frozen=True):
    """Say something to everybody at the table."""

    text: str


class SayInLobby(Struct, frozen=True):
    """Say something to everybody in the lobby."""

    text: str


class Leave(Struct, frozen=True):
    """Leave the table for the lobby."""


class GoHome(Struct, frozen=True):
    """Leave the server for the start screen."""


class Quit(Struct, frozen=True):
    """Leave the program."""


class Learn(Struct, frozen=True):
    """Take the lessons."""


class Continue(Struct, frozen=True):
    """Continue the game against bots that was left last."""


class PlayBots(Struct, frozen=True):
    """Play against bots of this brain, in this process."""

    players: int
    brain: str
    random_layout: bool
    people: People | None = None


class Host(Struct, frozen=True):
    """Serve in this process, for others on the network."""


class Search(Struct, frozen=True):
    """Look for servers on the network."""


class GoTo(Struct, frozen=True):
    """Join the server at this address; with `table`, sit down at that table, or watch it."""

    url: str
    table: str | None = None
    watch: bool = False


class LookBack(Struct, frozen=True):
    """Show the list of finished games."""


class ShowGame(Struct, frozen=True):
    """Replay the finished game in this file; have it analysed, too, if that is wanted."""

    file: str
    analysed: bool = False


class SaveGame(Struct, frozen=True):
    """Copy the record of the finished game in this file, or draw a picture of it."""

    file: str
    picture: bool


class RemoveGame(Struct, frozen=True):
    """Remove the finished game in this file for good."""

    file: str


class TurnPage(Struct, frozen=True):
    """Turn this many pages of the lessons, backwards if negative."""

    pages: int


class Misread(Struct, frozen=True):
    """The line typed asks for nothing, for the reason in the text.

    It can be mended if it was `mistyped`, and not just in the wrong place.
    """

    text: str
    mistyped: bool = True


TableRequest: TypeAlias = (
    SayReady
    | ChangeSeat
    | ChoosePeople
    | AskPause
    | Set
    | SeatBot
    | Remove
    | Dismiss
    | HandOver
    | Arrange
    | Substitute
    | EndGame
)
Request: TypeAlias = (
    Command
    | Refresh
    | Open
    | Join
    | Watch
    | Start
    | Rematch
    | WatchNext
    | Vote
    | Hint
    | Review
    | Analyse
    | StopAnalysis
    | SaveRecord
    | SavePicture
    | TableRequest
    | Rename
    | Say
    | SayInLobby
    | Leave
    | TurnPage
    | Learn
    | PlayBots
    | Continue
    | Host
    | Search
    | GoTo
    | LookBack
    | ShowGame
    | SaveGame
    | RemoveGame
    | GoHome
    | Quit
)
