"""A bot for Palatinus that is a program of its own: it imports nothing of the project.

    pip install -r requirements.txt
    python bot.py ws://127.0.0.1:7733            # opens a table for two, and prints its code
    python bot.py ws://127.0.0.1:7733 KRTV       # joins that table

It plays one game, prints the result and ends. docs/protocol.md describes the messages. To make it a better
player, change `choose`.
"""

import argparse
import asyncio
import itertools
import random
import secrets
import sys
from typing import Any

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

Message = dict[str, Any]

WORTH = {"Palatinus": 6, "Capitolinus": 5, "Quirinalis": 5, "Esquilinus": 4, "Aventinus": 4}  # others: 3
FIELDS = [f"{tile}{number}" for tile in "ABCDEFG" for number in range(1, 7)]
SPRINGS = frozenset(["A1", "A2", "B1", "B3", "C1", "C4", "D2", "D3", "E2", "E5", "F3", "F5", "G4", "G6"])
# Axial coordinates: of the hills by position, and the steps to the hexes beside one.
HILLS = [(0, 0), (2, 1), (-1, 3), (-3, 2), (-2, -1), (1, -3), (3, -2)]
STEPS = [(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]

FIRST_PAUSE, LONGEST_PAUSE, TRIES = 0.25, 15.0, 40  # seconds between attempts to come back, and how many
ANSWER_SECONDS = 30.0
FOR_GOOD = {1003, 1008, 1009, 4000}  # the close codes after which there is no use in coming back
# Refusals of a move or a start that need no answer: the server's next message says how things are.
OVERTAKEN = {
    *("paused", "time-up", "not-your-turn", "game-over", "left-the-table"),
    *("seats-empty", "seat-kept", "already-started", "not-the-host"),
}
# With these, what was asked may be asked again.
LATER = {"too-soon", "too-many-tables", "too-many-guesses", "server-stopping", "not-stored"}
MOST_SERVERS = 10  # that are kept in mind
NAMES = 20  # how many names are tried


class GiveUp(Exception):
    """The bot cannot go on; the text says why."""


class SentOn(Exception):
    """The table is at another server of the same cluster; the text is its address."""


class Game:
    """What the bot knows of its game: enough for `choose`, and to come back to it."""

    def __init__(self) -> None:
        self.table = self.token = ""
        self.own_token = secrets.token_urlsafe(32)  # for the seat: the server knows by it what it has given
        self.seat: int | None = None
        self.state: Message = {}  # the latest message `table`
        self.seq = 0  # the number of the latest event
        self.legal: Message | None = None  # what may be done now
        self.tiles: list[tuple[str, int] | None] = [None] * 7  # and their orientations, by position
        self.laurels: dict[str, str] = {}  # by tile
        self.board: dict[str, tuple[int, str]] = {}  # by field: the seat, and the piece as far as it is known
        self.result: Message | None = None

    def take_snapshot(self, message: Message) -> None:
        self.seq, self.legal = message["seq"], message.get("legal")
        self.tiles, self.laurels = message["tiles"], message["laurels"]
        self.board = {field: (seat, piece) for seat, piece, field in message["placed"]}
        for event in message.get("scoring", []):
            self.take_event(event)

    def take_events(self, message: Message) -> None:
        """Take in what is new; raises LookupError if something is missing between that and what is known."""
        if message["seq"] > self.seq + 1:
            raise LookupError
        for event in message["events"][self.seq + 1 - message["seq"] :]:
            self.take_event(event)
        self.seq = max(self.seq, message["seq"] + len(message["events"]) - 1)
        self.legal = message.get("legal")

    def take_event(self, event: Message) -> None:
        match event["t"]:
            case "centre":
                self.tiles = [(event["tile"], 0), *[None] * 6]
            case "laid":
                self.tiles[event["position"]] = event["tile"], event["orientation"]
            case "layout":
                self.tiles = [(laid["tile"], laid["orientation"]) for laid in event["tiles"]]
            case "laurels":
                self.laurels = event["laurels"]
            case "placed":
                self.board[event["field"]] = event["seat"], event["piece"]
            case "wolf":
                self.board[event["field"]] = event["seat"], event["people"] + "*"
            case "ended":
                self.result = event
            case _:
                pass  # this bot needs no more, and later versions may have events that nobody knows yet


def fields_beside(tiles: list[tuple[str, int] | None]) -> dict[str, list[str]]:
    """Return which fields are adjacent to each one."""
    fields = {}
    for (q, r), laid in zip(HILLS, tiles, strict=True):
        if laid is not None:
            tile, orientation = laid
            for number in range(6):
                dq, dr = STEPS[(orientation + number) % 6]
                fields[q + dq, r + dr] = f"{tile}{number + 1}"
    return {
        field: [fields[q + dq, r + dr] for dq, dr in STEPS if (q + dq, r + dr) in fields]
        for (q, r), field in fields.items()
    }


def choose(game: Game, legal: Message, rng: random.Random) -> Message:
    """Return a legal move: farmers at springs, merchants in company, rather on hills that are worth much."""
    if legal["t"] == "lay":
        return {
            "t": "lay",
            "position": rng.choice(legal["positions"]),
            "orientation": rng.choice(legal["orientations"]),
        }
    free = [field for number, field in enumerate(FIELDS) if legal["fields"] >> number & 1]
    beside = fields_beside(game.tiles)

    def promise(move: tuple[str, str]) -> tuple[int, bool, float]:
        piece, field = move
        taken = sum(each in game.board for each in beside[field])
        empty = len(beside[field]) - taken
        springs = len(SPRINGS.intersection((field, *beside[field])))
        # A soldier has no influence: it is placed when nothing else may be.
        influence = {"f": 2 * springs + empty, "m": 2 * taken + empty, "s": 0}[piece[1]]
        return influence * WORTH.get(game.laurels[field[0]], 3), piece.endswith("*"), rng.random()

    piece, field = max(itertools.product(legal["pieces"], free), key=promise)
    return {"t": "place", "piece": piece, "field": field}


class Bot:
    """One seat at one table, over as many connections as it takes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rng = random.Random()
        self.ids = itertools.count(random.randrange(2**30))
        self.game = Game()
        self.servers: list[str] = [options.server]  # of one cluster; the bot is at the first one, or tries it
        self.takes_tokens = False  # made by clients, as the server has said
        self.socket: ClientConnection

    async def play(self) -> None:
        """Play the game to its end; raises GiveUp."""
        pause, tries, been_there, sent_on = FIRST_PAUSE, 0, False, False
        while True:
            seated, was_sent_on, sent_on = False, sent_on, False
            try:
                # The server's frames have at most 256 KiB.
                async with connect(self.servers[0], compression=None, max_size=2**18) as self.socket:
                    await self.greet()
                    been_there = True
                    await self.take_seat()
                    tries, pause, seated = 0, FIRST_PAUSE, True
                    await self.play_on()
                    await self.ask({"t": "leave"})
                    return
            except SentOn as there:
                self.servers = list(dict.fromkeys((str(there), *self.servers)))
                sent_on = not was_sent_on
                if sent_on:  # otherwise with a pause: servers may send bots in circles
                    continue
            except ConnectionClosed as closed:
                if closed.rcvd is not None and closed.rcvd.code in FOR_GOOD:
                    raise GiveUp(f"the server closed the connection: {closed.rcvd.reason}") from closed
                self.turn(seated=seated)
            except (OSError, InvalidHandshake, InvalidURI) as error:  # TimeoutError is an OSError
                if not been_there:
                    raise GiveUp(f"cannot connect to {self.options.server}: {error}") from error
                self.turn(seated=seated)
            tries += 1
            if tries == TRIES:
                raise GiveUp("the server has not come back")
            await asyncio.sleep(pause * self.rng.uniform(0.5, 1.0))  # so that not all clients come at once
            pause = min(2 * pause, LONGEST_PAUSE)

    def turn(self, *, seated: bool) -> None:
        """Try the next server, unless this one has let the bot sit until now."""
        if not seated:
            self.servers.append(self.servers.pop(0))

    # -- messages ---------------------------------------------------------------------------------

    async def send(self, message: Message) -> None:
        await self.socket.send(msgpack.packb(message))

    async def receive(self) -> Message:
        """Return the next message, after the game has taken it in."""
        message: Message = msgpack.unpackb(await self.socket.recv())
        match message["t"]:
            case "seated":
                self.game.table, self.game.seat = message["table"], message["seat"]
                self.game.token = message.get("token") or self.game.token or self.game.own_token
            case "reseated":
                self.game.seat = message["seat"]
            case "table":
                self.game.state = message
            case "snapshot":
                self.game.take_snapshot(message)
            case "events":
                try:
                    self.game.take_events(message)
                except LookupError:
                    await self.send({"t": "sync", "id": next(self.ids), "after": self.game.seq})
            case "moved":
                self.follow(message)
            case "refused" if "address" in message.get("about", {}):
                self.follow(message["about"])
            case "refused" if "id" not in message and message["code"] != "bad-message":
                raise GiveUp(message["text"])  # the table was closed, or the bot was removed from it
            case _:
                pass  # `said`, `announced`, `stopping`, `draw`, and whatever servers will send one day
        return message

    def follow(self, told: Message) -> None:
        """Raise SentOn, unless that would give the seat's token away without encryption."""
        if self.may_go_to(told["address"]):
            raise SentOn(told["address"])

    def may_go_to(self, address: str) -> bool:
        return address.startswith("wss://") or not self.options.server.startswith("wss://")

    async def ask(self, message: Message) -> Message:
        """Send a request and return its answer; a wish that can be granted later is asked again."""
        while True:
            request = {**message, "id": next(self.ids)}
            await self.send(request)
            async with asyncio.timeout(ANSWER_SECONDS):
                while (answer := await self.receive()).get("id") != request["id"]:
                    pass
            if answer["t"] != "refused" or answer["code"] not in LATER:
                return answer
            print(answer["text"], file=sys.stderr)
            seconds = answer.get("about", {}).get("seconds", "1")
            await asyncio.sleep(float(seconds) + 0.1)

    # -- the course of a game -----------------------------------------------------------------------

    async def greet(self) -> None:
        hello: Message = {"t": "hello", "versions": [1], "client": "example-bot/1"}
        if self.options.password:
            hello["password"] = self.options.password
        await self.send(hello)
        async with asyncio.timeout(ANSWER_SECONDS):
            while (welcome := await self.receive())["t"] != "welcome":
                pass
        self.takes_tokens = welcome.get("own_tokens", False)
        others = filter(self.may_go_to, welcome.get("addresses", []))
        known = dict.fromkeys((self.servers[0], self.options.server, *others, *self.servers))
        self.servers = list(known)[:MOST_SERVERS]

    async def take_seat(self) -> None:
        """Come back to the seat, or take one; with a name that is taken, the next one is tried."""
        game, options = self.game, self.options
        if game.token:
            # With `after` 0, the server says how the game stands, so nothing has to be kept.
            answer = await self.ask({"t": "resume", "table": game.table, "token": game.token, "after": 0})
            if answer["t"] == "refused":
                raise GiveUp(answer["text"])
            return
        for number in range(1, NAMES + 1):
            name = options.name if number == 1 else f"{options.name[:17]}-{number}"
            where = (
                {"t": "join", "table": options.table}
                if options.table
                else {"t": "open", "players": options.players}
            )
            if self.takes_tokens:
                where["token"] = game.own_token
            answer = await self.ask({**where, "name": name, "program": True})
            if answer["t"] == "seated":
                print(f"Table {game.table}, seat {answer['seat'] + 1}, as {name}", flush=True)
                return
            if answer["code"] != "name-taken":
                raise GiveUp(answer["text"])
        raise GiveUp(f"all names like {options.name} are taken")

    async def play_on(self) -> None:
        """Start the game if that is for this seat to do, and make its moves, until the game is over."""
        game = self.game
        while game.result is None and not game.state.get("ended"):
            if self.may_start():
                game.state = {}  # the next one says whether it is to be tried again
                self.check(await self.ask({"t": "start"}))
            elif game.legal is not None and not game.state.get("paused"):
                legal, game.legal = game.legal, None  # the server sends it again if the move was not made
                self.check(await self.ask(choose(game, legal, self.rng)))
            else:
                await self.receive()
        if game.result is None:
            print("The host has ended the game.")
            return
        points = [tally["points"] for tally in game.result["tallies"]]
        won = game.seat in game.result["winners"]
        print(f"Points by seat: {', '.join(map(str, points))}. {'Won' if won else 'Lost'}.", flush=True)

    def may_start(self) -> bool:
        state = self.game.state
        return bool(
            state.get("stage") == "gathering"
            and state["host"] == self.game.seat
            and all(seat.get("name") and not seat.get("kept") for seat in state["seats"])
        )

    @staticmethod
    def check(answer: Message) -> None:
        """Raise GiveUp if a move or the start was refused for a reason that will not go away."""
        if answer["t"] == "refused" and answer["code"] not in OVERTAKEN:
            raise GiveUp(f"{answer['code']}: {answer['text']}")


def main() -> int:
    """Play as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description="A bot for Palatinus, in Python.")
    parser.add_argument("server", help="ws://HOST:PORT")
    parser.add_argument("table", nargs="?", help="the table's code; without one, the bot opens a table")
    parser.add_argument("--name", default="Example")
    parser.add_argument("--players", type=int, default=2, help="players at a new table")
    parser.add_argument("--password", help="the server's, if it has one")
    try:
        asyncio.run(Bot(parser.parse_args()).play())
    except GiveUp as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
