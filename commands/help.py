"""What `--help` shows of a command: its everyday options and examples; `--help-all` shows every option."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from client.language import N_


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command's examples, each with its meaning, and its everyday options: None for all but `RARE`."""

    examples: tuple[tuple[str, str], ...] = ()
    everyday: frozenset[str] | None = None


RARE: Final = frozenset({"--lang"})


def _help(everyday: str | None, *examples: tuple[str, str]) -> CommandHelp:
    return CommandHelp(
        examples, None if everyday is None else frozenset(f"--{key}" for key in everyday.split())
    )


_IN_TEXT: Final = N_("in text mode")
_FOR_SCRIPTS: Final = N_("for a script")

# By the words after `palatinus`; commands of commands have none, and show all of their options.
HELP: Final[Mapping[str, CommandHelp]] = {
    "": _help(
        "plain version",
        ("palatinus", N_("open the start screen")),
        ("palatinus learn", N_("learn the rules by playing")),
        ("palatinus help serve", N_("show a command's options and examples")),
    ),
    "learn": _help(
        "name plain",
        ("palatinus learn", N_("open the lessons")),
        ("palatinus learn --plain", _IN_TEXT),
    ),
    "play": _help(
        "continue from players brain name plain",
        ("palatinus play", N_("play against two bots")),
        ("palatinus play --players 2 --brain consul", N_("play against a single strong bot")),
        ("palatinus play --continue", N_("continue the game you left")),
    ),
    "join": _help(
        "watch new password-file name plain",
        ("palatinus join", N_("choose among your games and the servers on this network")),
        ("palatinus join wss://play.example.org", N_("open the lobby of a server")),
        ("palatinus join ws://192.168.1.20:7733 KRTV --watch", N_("watch the table KRTV")),
    ),
    "games": _help(
        "json password-file",
        ("palatinus games", N_("see where it is your turn")),
        ("palatinus games --json", _FOR_SCRIPTS),
    ),
    "problems": _help(
        "records name plain",
        ("palatinus problems", N_("solve one problem after another")),
        ("palatinus problems --plain", _IN_TEXT),
    ),
    "serve": _help(
        "name port data memory password-file tls-cert web ssh evening config",
        ("palatinus serve", N_("host games for friends on this network")),
        ("palatinus serve --web --ssh", N_("friends play in a browser or over ssh, with nothing installed")),
        (
            "palatinus serve --tls-cert chain.pem --tls-key key.pem --password-file word.txt",
            N_("on the internet, encrypted, for everybody who knows the password"),
        ),
    ),
    "guests": _help(
        "ssh server password-file max-guests",
        ("palatinus guests", N_("for the server on this computer")),
        ("palatinus guests --server wss://play.example.org", N_("for a server elsewhere")),
    ),
    "tables": _help(
        None,
        ("palatinus tables", N_("list all tables")),
        ("palatinus tables show KRTV", N_("show the table KRTV")),
        ("palatinus tables check", N_("look for damage")),
    ),
    "admin": _help(
        None,
        ("palatinus admin who", N_("see who is connected")),
        ("palatinus admin announce 'New version tonight'", N_("show everybody an announcement")),
        ("palatinus admin drain 30m", N_("take no new tables, and stop in half an hour")),
    ),
    "history": _help(
        None,
        ("palatinus history", N_("list the latest games")),
        ("palatinus history standings", N_("compare the players")),
        ("palatinus history --last 5 --json", _FOR_SCRIPTS),
    ),
    "record": _help(
        None,
        ("palatinus record show 1", N_("the game with the number 1 in palatinus history")),
        ("palatinus record replay game.txt", N_("a record in a file")),
        ("palatinus record analyse 1", N_("find out what decided a game")),
    ),
    "record show": _help(
        "",
        ("palatinus record show 1", N_("the game with the number 1 in palatinus history")),
        ("palatinus record show game.txt", N_("a record in a file")),
    ),
    "record replay": _help(
        "at eyes plain",
        ("palatinus record replay 1", N_("the game with the number 1 in palatinus history")),
        ("palatinus record replay game.txt --eyes 2", N_("as the player in seat 2 saw it")),
    ),
    "record export": _help(
        "svg animation text json at eyes",
        ("palatinus record export 1 --text", N_("print the final board")),
        ("palatinus record export 1 --svg board.svg --at 20", N_("draw the board after move 20")),
    ),
    "record analyse": _help(
        "simulations cores svg json",
        ("palatinus record analyse 1", N_("the game with the number 1 in palatinus history")),
        ("palatinus record analyse game.txt --svg curves.svg", N_("draw the chances of winning")),
    ),
    "record check": _help(
        None,
        ("palatinus record check game.txt", N_("a record in a file")),
        ("palatinus record check game.txt --json", _FOR_SCRIPTS),
    ),
    "score": _help(
        None,
        ("palatinus score positions.jsonl", N_("positions in a file")),
        ("palatinus score -", N_("positions that another program writes")),
    ),
    "bot": _help(
        "brain players seats games rematch password-file",
        ("palatinus bot ws://127.0.0.1:7733 KRTV", N_("a bot joins the table KRTV")),
        ("palatinus bot ws://127.0.0.1:7733 --players 3 --seats 2", N_("open a table for you and two bots")),
        ("palatinus bot ws://127.0.0.1:7733 KRTV --brain mybot:choose", N_("your own bot")),
    ),
    "arena": _help(
        "players games better-by cores results json move-time server",
        ("palatinus arena greedy random", N_("find out which of two brains is stronger")),
        (
            "palatinus arena mybot:choose greedy --better-by 35",
            N_("play until it is clear whether yours is better"),
        ),
        ("palatinus arena greedy 'node bot.js'", N_("a program against a brain")),
    ),
}
