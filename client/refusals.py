"""What the server refuses, in the player's language.

English players read the server's own words. For the others a sentence that says the same is looked for, by
the refusal's code and filled in with its facts; where the server says something new, the last sentence of
the code, which needs no facts, says it in general.
"""

from collections.abc import Mapping
from typing import Final

from client.language import N_, _, spoken
from engine.errors import Fault
from protocol.codes import Code
from protocol.messages import Refused
from protocol.text import printable

SENTENCES: Final[Mapping[str, tuple[str, ...]]] = {
    Code.BAD_MESSAGE: (
        N_("Seat {seat} cannot start. Choose 0 to {last}."),
        N_("The server does not understand this client. Are both up to date?"),
    ),
    Code.NO_COMMON_VERSION: (
        N_("Server and client speak different versions of the protocol. Update the older one."),
    ),
    Code.HELLO_FIRST: (N_("The server does not understand this client. Are both up to date?"),),
    Code.HELLO_TWICE: (N_("The server does not understand this client. Are both up to date?"),),
    Code.PASSWORD_NEEDED: (N_("This server wants a password. Ask the host for it."),),
    Code.BAD_PASSWORD: (N_("That is not this server's password."),),
    Code.ID_REUSED: (N_("The server has mixed up two requests of this client. Try again."),),
    Code.BAD_NAME: (
        N_("That name cannot be used: {why}."),
        N_("That name cannot be used. Choose another."),
    ),
    Code.NAME_TAKEN: (N_("Somebody at this table has that name. Choose another."),),
    Code.BAD_TEXT: (N_("That cannot be said: {why}."), N_("That cannot be said.")),
    Code.TOO_MANY_TABLES: (N_("There are too many tables. Join one, or try again later."),),
    Code.TOO_SOON: (
        N_("Too many tables were opened within a minute. Try again in {seconds} seconds."),
        N_("Too many tables were opened within a minute. Try again soon."),
    ),
    Code.NO_SUCH_TABLE: (
        N_("There is no table {table}. Ask for the list of tables."),
        N_("Table {table} is closed."),
        N_("There is no such table."),
    ),
    Code.TABLE_FULL: (
        N_("Table {table} is full. Watch it, or join another."),
        N_("Table {table} has no room for more spectators."),
        N_("There is no room at this table. Choose another."),
    ),
    Code.SEAT_TAKEN: (
        N_("Seat {seat} is not free. Choose one of {free}."),
        N_("This seat is not free. Choose another."),
    ),
    Code.BAD_TOKEN: (N_("Your seat at this table is not kept any more."),),
    Code.AT_A_TABLE: (N_("You are at a table. Leave it first."),),
    Code.NOT_AT_A_TABLE: (
        N_("You have left the table."),
        N_("You are not at a table. Open or join one first."),
    ),
    Code.NOT_A_PLAYER: (N_("You are watching. Only players do that."),),
    Code.NOT_THE_HOST: (N_("Only the host starts the game."),),
    Code.SEATS_EMPTY: (
        N_("1 seat is empty. Wait for players, or add bots."),
        N_("{empty} seats are empty. Wait for players, or add bots."),
        N_("A seat is kept for {name}, who has not come yet. Wait until it is taken or free."),
        N_("Some seats are empty. Wait for players, or add bots."),
    ),
    Code.ALREADY_STARTED: (
        N_("Table {table} has begun. Watch it, or join another."),
        N_("The game at table {table} is over. Join another table."),
        N_("The game has begun already."),
    ),
    Code.NOT_STARTED: (N_("The game has not begun. The host starts it."),),
    Code.TIME_UP: (N_("Your time is up. Wait for the move that is made for you."),),
    Code.NO_VOTE: (
        N_("A bot holds seat {seat} already. It goes when the player returns."),
        N_("There is nothing to vote on at this table now."),
    ),
    Code.NOT_AWAY: (
        N_("Nobody is away from seat {seat}. Vote on a seat that is shown to be away."),
        N_("Nobody is away from that seat."),
    ),
    Code.TOO_EARLY: (
        N_("The player of seat {seat} may still come back. Vote in {seconds} s."),
        N_("That player may still come back. Vote later."),
    ),
    Code.NOT_OVER: (N_("The game is not over. Play again when it is."),),
    Code.NOT_STORED: (N_("The server cannot store that, so nothing has changed. Tell the host."),),
    Fault.NOT_YOUR_TURN: (N_("It is not your turn. Wait for the others."),),
    Fault.NOT_NOW: (
        N_("All tiles are laid. Place a piece on an empty field."),
        N_("The tiles are still being laid. Lay the tile that was drawn."),
        N_("That cannot be done at this moment of the game."),
    ),
    Fault.NOT_AN_OUTER_POSITION: (
        N_("{position} is not an outer position. Choose one of {free}."),
        N_("That is not an outer position. Choose 1 to 6."),
    ),
    Fault.NOT_AN_ORIENTATION: (
        N_("{orientation} is not an orientation. Choose 0 to 5."),
        N_("That is not an orientation. Choose 0 to 5."),
    ),
    Fault.POSITION_TAKEN: (
        N_("Position {position} is taken. Choose one of {free}."),
        N_("A tile lies there already. Choose another position."),
    ),
    Fault.POSITION_APART: (
        N_("Position {position} does not touch an outer tile. Choose one of {free}."),
        N_("That position does not touch an outer tile. Choose one beside a tile."),
    ),
    Fault.NOT_IN_HAND: (
        N_("There is no {piece} in your hand. It holds {hand}."),
        N_("Your hand has no such piece. Choose another."),
    ),
    Fault.SOLDIER_DUE: (
        N_("A hand of {limit} or fewer may not hold a soldier. Place a soldier now: {soldiers}."),
        N_("You must place a soldier now."),
    ),
    Fault.NO_SUCH_FIELD: (
        N_("There is no field {field}. Choose an empty field, A1 to G6."),
        N_("There is no such field. Choose an empty field, A1 to G6."),
    ),
    Fault.FIELD_TAKEN: (
        N_("{field} is taken. Choose an empty field."),
        N_("That field is taken. Choose an empty field."),
    ),
    Fault.GAME_OVER: (N_("The game is over. Start another one."),),
}

CLOSINGS: Final = (
    N_("nothing was asked for a long time"),
    N_("no hello in time"),
    N_("hello must come first"),
    N_("no common protocol version"),
    N_("no password"),
    N_("wrong password"),
    N_("too many malformed messages"),
    N_("too many wrong tokens"),
    N_("text frames are not spoken here; send binary msgpack"),
)

_UNSAFE: Final = (
    N_("it has too many combining marks on one letter"),
    N_("it is empty, or begins or ends with a space"),
    N_("it is not in Unicode's composed form (NFC)"),
    N_("it mixes letters of alphabets that look alike"),
)


def describe_refusal(refused: Refused) -> str:
    """Return the refusal as a sentence that is safe to show; the server's own where no other is known."""
    if spoken() == "en" or (sentences := SENTENCES.get(refused.code)) is None:
        return printable(refused.text)
    about = refused.about or {}
    found = next((each for each in sentences if _filled(each, about) == refused.text), sentences[-1])
    told = {name: describe_unsafe(fact) if name == "why" else printable(fact) for name, fact in about.items()}
    return _(found).format(**told)


def _filled(sentence: str, about: Mapping[str, str]) -> str | None:
    try:
        return sentence.format(**about)
    except KeyError:
        return None


def describe_closing(reason: str) -> str:
    """Return the server's reason for closing the connection."""
    return _(reason)


def describe_unsafe(reason: str) -> str:
    """Return why a name or a text cannot be shown to others, as `protocol.text.unsafe` found it."""
    code = reason.rpartition(" U+")[2]
    if code != reason:
        return _("it has the unprintable character {code}").format(code=f"U+{code}")
    return _(reason)
