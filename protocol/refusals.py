"""What refusals and closed connections mean, in words: one sentence for each code.

The server sends codes and facts, and the sentence in English; a client has the same table, and puts it into
its player's language.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engine.errors import FAULT_TEXTS, Template
from protocol.codes import CloseReason, Code

REFUSAL_TEXTS: Final[Mapping[str, Template]] = MappingProxyType(
    {
        Code.BAD_MESSAGE: Template("The server did not understand a message: {reason}."),
        Code.NO_COMMON_VERSION: Template(
            "This server speaks protocol version {versions}. Update the client or the server."
        ),
        Code.HELLO_FIRST: Template("The first message must be hello, with the versions you speak."),
        Code.HELLO_TWICE: Template("Hello has already been sent."),
        Code.PASSWORD_NEEDED: Template("This server asks for a password. Get it from the host."),
        Code.BAD_PASSWORD: Template("That is not this server's password."),
        Code.ID_REUSED: Template("Id {id} was used for another message. Number your messages upward."),
        Code.NAME_UNPRINTABLE: Template(
            "That name cannot be used: it contains the unprintable character {character}."
        ),
        Code.NAME_TOO_MANY_MARKS: Template(
            "That name cannot be used: it has too many combining marks on one letter."
        ),
        Code.NAME_BLANK: Template(
            "That name cannot be used: it has to begin and end with a visible character."
        ),
        Code.NAME_NOT_COMPOSED: Template(
            "That name cannot be used: it is not in Unicode's composed form (NFC)."
        ),
        Code.NAME_MIXED_ALPHABETS: Template(
            "That name cannot be used: it mixes look-alike letters from different alphabets."
        ),
        Code.NAME_TAKEN: Template("Someone at this table already has that name. Choose another."),
        Code.NAME_IN_USE: Template("Someone on this server already has that name. Choose another."),
        Code.TEXT_UNPRINTABLE: Template(
            "That message cannot be sent: it contains the unprintable character {character}."
        ),
        Code.TEXT_TOO_MANY_MARKS: Template(
            "That message cannot be sent: it has too many combining marks on one letter."
        ),
        Code.TEXT_BLANK: Template(
            "That message cannot be sent: it has to begin and end with a visible character."
        ),
        Code.TEXT_NOT_COMPOSED: Template(
            "That message cannot be sent: it is not in Unicode's composed form (NFC)."
        ),
        Code.TOO_MUCH_CHAT: Template(
            "Too many messages were sent within a minute. Try again in {seconds} s."
        ),
        Code.NO_LOBBY_CHAT: Template("This server has no chat in the lobby."),
        Code.NOT_IN_LOBBY: Template("To talk in the lobby, choose a name there first."),
        Code.TOO_MANY_TABLES: Template("There are too many tables. Join one, or try again later."),
        Code.TOO_MANY_SEATS: Template("Too many players play from your address. Try again later."),
        Code.TOO_SOON: Template("Too many tables were opened within a minute. Try again in {seconds} s."),
        Code.SERVER_STOPPING: Template(
            "The server stops in {seconds} s, so it opens no more tables. Try again when it is back."
        ),
        Code.NO_SUCH_TABLE: Template(
            "There is no table {table}. Check the code, or choose a table from the list."
        ),
        Code.TABLE_ELSEWHERE: Template("Table {table} is on another server: {address}."),
        Code.TABLE_DAMAGED: Template(
            "Table {table} is damaged on the server. Ask the people who run the server to restore it."
        ),
        Code.TOO_MANY_GUESSES: Template(
            "Too many codes of tables that do not exist were tried. Try again in {seconds} s."
        ),
        Code.TABLE_CLOSED: Template("Table {table} is closed."),
        Code.CLOSED_BY_SERVER: Template("The host of the server closed table {table}."),
        Code.REMOVED_BY_SERVER: Template("The host of the server removed you from table {table}."),
        Code.TABLE_FULL: Template("Table {table} is full. Watch it, or join another."),
        Code.SPECTATORS_FULL: Template("Table {table} has no room for more spectators."),
        Code.NO_SPECTATORS: Template("Table {table} is closed to spectators."),
        Code.REMOVED: Template("The host has removed you from table {table}. You can return in {seconds} s."),
        Code.REMOVED_NEARBY: Template(
            "The host has just removed somebody at your address from table {table}. Try again in {seconds} s."
        ),
        Code.KNOWS_ANOTHER_HAND: Template(
            "You have sat in another seat of this game and know its hand, so you cannot take this one over."
        ),
        Code.NO_SUCH_SEAT: Template("There is no seat {seat} at this table. Choose 1 to {last_seat}."),
        Code.SEAT_TAKEN: Template("Seat {seat} is not free. Choose one of {free_seats}."),
        Code.NO_FREE_SEAT: Template("No seat is free. The host can swap seats."),
        Code.PEOPLE_TAKEN: Template("{name} has chosen the people {people}. Choose one of {free_peoples}."),
        Code.BAD_TOKEN: Template("Your seat at table {table} is no longer kept."),
        Code.AT_A_TABLE: Template("You are at a table. Leave it first."),
        Code.NOT_AT_A_TABLE: Template("You are not at a table. Open or join one first."),
        Code.LEFT_THE_TABLE: Template("You have left the table."),
        Code.NOT_A_PLAYER: Template("You are watching. Only players can do that."),
        Code.NOT_THE_HOST: Template("Only the host of the table can do that."),
        Code.NOT_YOURSELF: Template("You cannot do that to your own seat."),
        Code.NOBODY_THERE: Template("Nobody sits in seat {seat}."),
        Code.NO_SUCH_SPECTATOR: Template("That spectator has left."),
        Code.NO_BOTS: Template("This server seats no bots. Add one with palatinus bot."),
        Code.NO_SUCH_LEVEL: Template("There is no bot of level {level}. Choose one of {levels}."),
        Code.NOT_A_PERSON: Template("A program sits in seat {seat}. Choose a person."),
        Code.SEATS_EMPTY: Template("Still free: seat {free_seats}. Wait for players, or add bots."),
        Code.SEAT_KEPT: Template(
            "A seat is kept for {name}, who has not come yet. Wait until it is taken or free."
        ),
        Code.ALREADY_STARTED: Template("The game has already begun."),
        Code.GAME_RUNNING: Template("The game at table {table} has begun. Watch it, or join another table."),
        Code.GAME_FINISHED: Template("The game at table {table} is over. Join another table."),
        Code.NOT_STARTED: Template("The game has not begun. The host starts it."),
        Code.PAUSED: Template("The game is paused. It goes on when the pause is ended."),
        Code.NOT_PAUSED: Template("The game is not paused."),
        Code.NO_PAUSES_LEFT: Template("You have used all your pauses in this game ({pauses})."),
        Code.PAUSE_GOES_ON: Template(
            "Only the player who paused the game, or the host, can end the pause now. You can in {seconds} s."
        ),
        Code.TIME_UP: Template("Your time is up. A move is about to be made for you."),
        Code.NO_VOTE: Template("There is nothing to vote on at this table now."),
        Code.PROGRAMS_DO_NOT_VOTE: Template("Programs have no vote. The people at the table decide."),
        Code.BOT_PLAYS_ALREADY: Template(
            "A bot already plays for seat {seat}. It stops when the player returns."
        ),
        Code.NOT_OVER: Template("The game is not over yet."),
        Code.NOT_AWAY: Template("The player of seat {seat} is not away. Choose a seat marked as away."),
        Code.TOO_EARLY: Template("The player of seat {seat} may still come back. Try again in {seconds} s."),
        Code.NOT_STORED: Template("The server cannot store that, so nothing has changed. Tell the host."),
        **{fault.value: text for fault, text in FAULT_TEXTS.items()},
    }
)
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

CLOSING_TEXTS: Final[Mapping[str, Template]] = MappingProxyType(
    {
        CloseReason.IDLE: Template("no message was received for a long time"),
        CloseReason.STOPPING: Template("the server is shutting down"),
        CloseReason.TEXT_FRAME: Template("it was sent a text frame, and reads only binary msgpack"),
        CloseReason.NO_HELLO: Template("no hello was received in time"),
        CloseReason.HELLO_FIRST: Template("the first message was not hello"),
        CloseReason.NO_COMMON_VERSION: Template("there is no protocol version that both sides speak"),
        CloseReason.NO_PASSWORD: Template("no password was given"),
        CloseReason.WRONG_PASSWORD: Template("the password was wrong"),
        CloseReason.TOO_MANY_BAD_MESSAGES: Template("too many messages were malformed"),
        CloseReason.TOO_MANY_WRONG_TOKENS: Template("too many tokens were wrong"),
        CloseReason.TAKEN_OVER: Template("your seat was taken over by another connection"),
        CloseReason.TABLE_MOVED: Template("another server has the table now"),
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
