"""Stable codes, each with its sentence: why a message was refused, and why a connection was closed.

The server sends codes and facts, and the sentence in English; a client has the same table, and puts it into
its player's language.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.errors import CodeWithText, Fault, Template


class Code(CodeWithText):
    """Why the server refused a message, unless a rule of the game forbids it (see the engine's `Fault`)."""

    BAD_MESSAGE = Template("The server did not understand a message: {reason}.")
    NO_COMMON_VERSION = Template(
        "This server speaks protocol version {versions}. Update the client or the server."
    )
    HELLO_FIRST = Template("The first message must be hello, with the versions you speak.")
    HELLO_TWICE = Template("Hello has already been sent.")
    PASSWORD_NEEDED = Template("This server asks for a password. Get it from the host.")
    BAD_PASSWORD = Template("That is not this server's password.")
    ID_REUSED = Template("Id {id} was used for another message. Number your messages upward.")
    NAME_UNPRINTABLE = Template(
        "That name cannot be used: it contains the unprintable character {character}."
    )
    NAME_TOO_MANY_MARKS = Template("That name cannot be used: it has too many combining marks on one letter.")
    NAME_BLANK = Template("That name cannot be used: it has to begin and end with a visible character.")
    NAME_NOT_COMPOSED = Template("That name cannot be used: it is not in Unicode's composed form (NFC).")
    NAME_MIXED_ALPHABETS = Template(
        "That name cannot be used: it mixes look-alike letters from different alphabets."
    )
    NAME_TAKEN = Template("Someone at this table already has that name. Choose another.")
    NAME_IN_USE = Template("Someone on this server already has that name. Choose another.")
    NAME_BANNED = Template("That name cannot be used on this server. Choose another.")
    TEXT_UNPRINTABLE = Template(
        "That message cannot be sent: it contains the unprintable character {character}."
    )
    TEXT_TOO_MANY_MARKS = Template(
        "That message cannot be sent: it has too many combining marks on one letter."
    )
    TEXT_BLANK = Template("That message cannot be sent: it has to begin and end with a visible character.")
    TEXT_NOT_COMPOSED = Template("That message cannot be sent: it is not in Unicode's composed form (NFC).")
    TOO_MUCH_CHAT = Template("Too many messages were sent within a minute. Try again in {seconds} s.")
    NO_LOBBY_CHAT = Template("This server has no chat in the lobby.")
    NOT_IN_LOBBY = Template("To talk in the lobby, choose a name there first.")
    TOO_MANY_TABLES = Template("There are too many tables. Join one, or try again later.")
    TOO_MANY_SEATS = Template("Too many players play from your address. Try again later.")
    TOO_SOON = Template("Too many tables were opened within a minute. Try again in {seconds} s.")
    SERVER_STOPPING = Template(
        "The server stops in {seconds} s, so it opens no more tables. Try again when it is back."
    )
    NO_EVENING = Template("There is no evening on this server.")
    EVENING_FULL = Template("So many people have signed up that there is no room for more.")
    NOT_SIGNED_UP = Template("You have not signed up for the evening. Do that first.")
    REMOVED_FROM_EVENING = Template("The host of the server removed you from the evening.")
    EVENING_RUNS = Template(
        "Games of the evening {name} are still running. Open another evening when they are over."
    )
    EVENING_IN_CLUSTER = Template(
        "An evening needs a stand-alone server: servers that share a database cannot host one."
    )
    NO_ROUND_DUE = Template(
        "No round can be drawn now: one is under way, too few people are free, or this evening has no rounds."
    )
    OF_THE_EVENING = Template("This table belongs to the evening, which decides that for all its tables.")
    NO_SUCH_TABLE = Template("There is no table {table}. Check the code, or choose a table from the list.")
    TABLE_ELSEWHERE = Template("Table {table} is on another server: {address}.")
    TABLE_DAMAGED = Template(
        "Table {table} is damaged on the server. Ask the people who run the server to restore it."
    )
    TOO_MANY_GUESSES = Template(
        "Too many codes of tables that do not exist were tried. Try again in {seconds} s."
    )
    TABLE_CLOSED = Template("Table {table} is closed.")
    CLOSED_BY_SERVER = Template("The host of the server closed table {table}.")
    REMOVED_BY_SERVER = Template("The host of the server removed you from table {table}.")
    TABLE_FULL = Template("Table {table} is full. Watch it, or join another.")
    SPECTATORS_FULL = Template("Table {table} has no room for more spectators.")
    NO_SPECTATORS = Template("Table {table} is closed to spectators.")
    REMOVED = Template("The host has removed you from table {table}. You can return in {seconds} s.")
    REMOVED_NEARBY = Template(
        "The host has just removed somebody at your address from table {table}. Try again in {seconds} s."
    )
    KNOWS_ANOTHER_HAND = Template(
        "You have sat in another seat of this game and know its hand, so you cannot take this one over."
    )
    NO_SUCH_SEAT = Template("There is no seat {seat} at this table. Choose 1 to {last_seat}.")
    SEAT_TAKEN = Template("Seat {seat} is not free. Choose one of {free_seats}.")
    NO_FREE_SEAT = Template("No seat is free. The host can swap seats.")
    PEOPLE_TAKEN = Template("{name} has chosen the people {people}. Choose one of {free_peoples}.")
    BAD_TOKEN = Template("Your seat at table {table} is no longer kept.")
    AT_A_TABLE = Template("You are at a table. Leave it first.")
    NOT_AT_A_TABLE = Template("You are not at a table. Open or join one first.")
    LEFT_THE_TABLE = Template("You have left the table.")
    NOT_OPEN_TO_GUESTS = Template(
        "You can invite people to a table that is in the list and has a free seat, before its game."
    )
    NOT_A_PLAYER = Template("You are watching. Only players can do that.")
    NOT_THE_HOST = Template("Only the host of the table can do that.")
    NOT_YOURSELF = Template("You cannot do that to your own seat.")
    NOBODY_THERE = Template("Nobody sits in seat {seat}.")
    NO_SUCH_SPECTATOR = Template("That spectator has left.")
    NO_BOTS = Template("This server seats no bots. Add one with palatinus bot.")
    NO_SUCH_LEVEL = Template("There is no bot of level {level}. Choose one of {levels}.")
    NOT_A_PERSON = Template("A program sits in seat {seat}. Choose a person.")
    SEATS_EMPTY = Template("Still free: seat {free_seats}. Wait for players, or add bots.")
    SEAT_KEPT = Template("A seat is kept for {name}, who has not come yet. Wait, or remove the player.")
    ALREADY_STARTED = Template("The game has already begun.")
    GAME_RUNNING = Template("The game at table {table} has begun. Watch it, or join another table.")
    GAME_FINISHED = Template("The game at table {table} is over. Join another table.")
    NOT_STARTED = Template("The game has not begun. The host starts it.")
    PAUSED = Template("The game is paused. It continues when the pause is ended.")
    NOT_PAUSED = Template("The game is not paused.")
    NOTHING_ASKED = Template("There is no such request.")
    NO_PAUSES_LEFT = Template("You have used all your pauses in this game ({pauses}).")
    NO_TAKE_BACKS_LEFT = Template(
        "No more moves can be taken back in this game: that has been done {most} times."
    )
    ENOUGH_TIME = Template("You have more than enough time: nobody needs to give you more.")
    NO_HOLIDAYS = Template("You have no days of holiday left in this game.")
    BAD_MOMENT = Template("A pause must end in the future, and within {most} days.")
    PAUSE_GOES_ON = Template(
        "Only the player who paused the game, or the host, can end the pause now. You can in {seconds} s."
    )
    OTHERS_ASKED = Template("The players are asked for something else already.")
    NO_CLOCK = Template("Your time is not limited now.")
    NO_NOTICES = Template("This server does not send notifications.")
    BAD_ADDRESS = Template("That is neither an e-mail address nor a URL. Type it like ann@example.org.")
    ADDRESS_NOT_ALLOWED = Template("This server sends nothing to that address. It allows: {kinds}.")
    TOO_MANY_CODES = Template("Too many confirmation codes were sent lately. Try again in {seconds} s.")
    NO_CODE = Template("No code is awaited. Leave an address first.")
    WRONG_CODE = Template("That is not the code that was sent. Look at the latest message.")
    TIME_UP = Template("Your time is up. A move is about to be made for you.")
    NO_VOTE = Template("There is nothing to vote on at this table now.")
    PROGRAMS_DO_NOT_VOTE = Template("Programs have no vote. The people at the table decide.")
    BOT_PLAYS_ALREADY = Template("A bot already plays for seat {seat}. It stops when the player returns.")
    NOT_OVER = Template("The game is not over yet.")
    NO_SUCH_STEP = Template("The game cannot continue from there. Choose 0 to {last}.")
    LED_ALREADY = Template("Someone else is leading now. You can follow.")
    NOT_AWAY = Template("The player of seat {seat} is not away. Choose a seat marked as away.")
    TOO_EARLY = Template("The player of seat {seat} may still come back. Try again in {seconds} s.")
    NOT_STORED = Template("The server cannot store that, so nothing has changed. Tell the host.")


# Without the id of a request, these codes mean that the client is no longer at its table.
SENT_AWAY: Final = frozenset(
    {
        Code.TABLE_CLOSED,
        Code.CLOSED_BY_SERVER,
        Code.REMOVED_BY_SERVER,
        Code.REMOVED,
        Code.NO_SPECTATORS,
        Code.SPECTATORS_FULL,
    }
)

# Without the id of a request, these codes mean that the client's person is no longer in the evening.
SENT_FROM_EVENING: Final = frozenset({Code.EVENING_FULL, Code.NOT_SIGNED_UP, Code.REMOVED_FROM_EVENING})


class CloseCode(enum.IntEnum):
    """Why the server closed the connection (RFC 6455, 7.4; the IANA registry for 1012 and 1013)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    POLICY_VIOLATION = 1008
    SERVICE_RESTART = 1012  # another server may have the table: connect again
    TAKEN_OVER = 4000  # the same seat token came in on another connection


class CloseReason(CodeWithText):
    """The reason that comes with a close code."""

    IDLE = Template("no message was received for a long time")
    STOPPING = Template("the server is shutting down")
    TEXT_FRAME = Template("it was sent a text frame, and reads only binary msgpack")
    NO_HELLO = Template("no hello was received in time")
    HELLO_FIRST = Template("the first message was not hello")
    NO_COMMON_VERSION = Template("there is no protocol version that both sides speak")
    NO_PASSWORD = Template("no password was given")
    WRONG_PASSWORD = Template("the password was wrong")
    TOO_MANY_BAD_MESSAGES = Template("too many messages were malformed")
    TOO_MANY_WRONG_TOKENS = Template("too many tokens were wrong")
    TAKEN_OVER = Template("your seat was taken over by another connection")
    TABLE_MOVED = Template("another server has the table now")


# The HTTP answer, with status 503, to a request for a websocket. A proxy in front of the server that cannot
# reach it answers 503 as well, with other words.
FULL: Final = "This Palatinus server has no room for more connections. Try again later.\n"


REFUSAL_TEXTS: Final[Mapping[str, Template]] = MappingProxyType({code: code.text for code in (*Code, *Fault)})
# The sentences of refusals that pass by themselves: then the facts have the `seconds` until another attempt.
_PASSING_TEXTS: Final[Mapping[str, Template]] = MappingProxyType(
    {
        Code.NOT_STORED: Template(
            "The server cannot store that just now, so nothing has changed. Try again in a moment."
        ),
        Code.TABLE_CLOSED: Template(
            "Table {table} had to make room for another one. Its game is kept. Come back later."
        ),
    }
)
_SEATS: Final = frozenset({"seat", "last_seat", "free_seats"})  # facts that count seats from 0


def refusal_template(code: str, about: Mapping[str, str]) -> Template:
    """Return the sentence for a code and these facts, not yet filled in; raises KeyError if there is none."""
    template = _PASSING_TEXTS.get(code) if "seconds" in about else None
    return REFUSAL_TEXTS[code] if template is None else template


def sentence(template: str, about: Mapping[str, str]) -> str:
    """Return the sentence of a refusal: people count seats from 1.

    Raises LookupError if it needs a fact that `about` does not have.
    """
    facts = {name: _from_one(fact) if name in _SEATS else fact for name, fact in about.items()}
    return template.format_map(facts)


def _from_one(seats: str) -> str:
    return ", ".join(str(int(seat) + 1) if seat.isdecimal() else seat for seat in seats.split(", "))
