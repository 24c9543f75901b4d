"""The ssh gateway: it listens, counts who is here, and shows each guest the game."""

import asyncio
import contextlib
import logging
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import asyncssh

from client.bots.hints import suggest_move
from client.language import N_, WrongUse, _, speaking
from client.network.transport import ServerAccess
from client.player.terminal import Calling, Colouring
from client.records import Suggestion
from client.typed_text import fault_of
from client.ui.game import visit
from client.ui.program import shown_alone
from client.ui.seat_keeper import Keeping
from client.ui.state import Ways
from client.ui.terminal.shell import describe_failure
from client.ui.visit import Destination, LookingBack, Player, Stay, Visit, at_table
from engine.legal import Legal
from engine.view import View
from gateway import connection
from gateway.connection import Arrival, GuestConnection, Login, options
from gateway.kept_seats import GuestBook, GuestSeats
from gateway.limits import CpuBudget, FrameTurns, GuestLimits
from gateway.terminal import GuestTerminal, language_at
from past_games.history_screen import looking_at_games
from past_games.records import recording_of
from protocol.limits import NAME_LENGTH
from server.limits.networks import Networks, shares, who_gives_way
from server.limits.rate_limits import PerMinuteLimit
from server.limits.turns import InTurn
from server.monitoring.logs import about
from server.net.addresses import RemoteEnd, remote_of
from server.net.event_loop import make_room_for

log = logging.getLogger(__name__)

_BACKLOG: Final = 256
_SECONDS_TO_SAY_GOODBYE: Final = 1.0
_SECONDS_BETWEEN_LOOKS: Final = 0.5
_SECONDS_BETWEEN_TIDYINGS: Final = 600.0
_FILES_EACH: Final = 4  # two connections, and the files of seats


@dataclass(frozen=True, slots=True)
class GameServer:
    """Where guests play: what it is called in the files of their seats stays the same, unlike the URL."""

    url: str
    called: str
    access: ServerAccess


def _name_for(wanted: str) -> str:
    """Return the name that a guest plays under: the one wanted, if that will do."""
    name = wanted.strip()[:NAME_LENGTH].strip()
    return name if name and fault_of(name) is None else _("Guest")


@dataclass(eq=False, slots=True)
class _Visitor:
    """A guest who is here; `back` says how to return to the seat, by a secret word if that is `new`."""

    terminal: GuestTerminal
    login: Login
    task: asyncio.Task[None]
    seats: GuestSeats
    back: str = field(repr=False)
    new: bool
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    farewell: str = ""

    def end(self, sentence: str) -> None:
        """End the visit, and say why, in the language of the guest."""
        self.farewell = sentence
        self.task.cancel()


class Gateway:
    """Lets guests in; `farewell` is what those who are here are told at the end."""

    def __init__(
        self, key: asyncssh.SSHKey, book: GuestBook, server: GameServer, limits: GuestLimits
    ) -> None:
        self.farewell = N_("The host has stopped letting guests in.")
        self._book, self._server, self._limits = book, server, limits
        self._options = options(key, partial(Login, self._terminal), limits)
        self._connections: set[GuestConnection] = set()
        self._arrivals = PerMinuteLimit(limits.arrivals_per_minute)
        self._arrivals_from = PerMinuteLimit(limits.arrivals_per_address)
        self._wrong_words = PerMinuteLimit(limits.wrong_words_per_address)
        self._deadlines: dict[GuestConnection, asyncio.TimerHandle] = {}
        self._visitors: dict[tuple[str, str], _Visitor] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._cpu = CpuBudget(limits.cpu_at_once, lambda: limits.cpu, time.monotonic)
        self._turns = FrameTurns(time.monotonic)
        self._hints = InTurn()

    @contextlib.asynccontextmanager
    async def open(self, listener: socket.socket) -> AsyncIterator[None]:
        """Admit guests until the context ends; then inform those who are here, and close their screens."""
        asyncssh.set_log_level("CRITICAL")
        make_room_for(_FILES_EACH * self._limits.guests)
        loop = asyncio.get_running_loop()
        serving = await loop.create_server(partial(Arrival, self._admit), sock=listener, backlog=_BACKLOG)
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            serving.close()
            for visitor in self._visitors.values():
                visitor.end(self.farewell)
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=2 * _SECONDS_TO_SAY_GOODBYE)
            for connection in list(self._connections):
                connection.abort()

    # -- connections --------------------------------------------------------------------------------

    def _admit(self, transport: asyncio.Transport) -> None:
        """Let a newcomer speak ssh, or end the connection."""
        remote, loop = remote_of(transport), asyncio.get_running_loop()
        if not self._has_room(remote, loop.time()):
            transport.abort()
            return
        arrived = GuestConnection(self._options, self._limits, remote, self._leave)
        self._connections.add(arrived)
        self._deadlines[arrived] = loop.call_later(self._limits.login_seconds, arrived.abort)
        transport.set_protocol(arrived)
        arrived.connection_made(transport)

    def _has_room(self, remote: RemoteEnd, now: float) -> bool:
        """Return whether a newcomer has room, and does not come too soon; if so, count the arrival."""
        limits, networks = self._limits, remote.counted_as
        per_network = shares(networks, limits.guests_per_address, limits.guests)
        here = Counter(network for each in self._connections for network in each.remote.counted_as)
        full = any(here[network] >= most for network, most in per_network)
        if full or (len(self._connections) >= limits.guests and not self._make_room(networks)):
            log.info("guest refused: too many", extra=about(address=remote.name))
            return False
        if self._arrivals_from.wait(networks, now) or self._arrivals.wait("", now, networks):
            log.info("guest refused: too soon", extra=about(address=remote.name))
            return False
        self._arrivals_from.count(networks, now)
        self._arrivals.count("", now, networks)
        return True

    def _make_room(self, networks: Networks) -> bool:
        """End a connection for a newcomer from elsewhere: one that is silent, or a guest without a seat."""
        without_seat = {
            visitor.login.connection: visitor
            for visitor in reversed(self._visitors.values())
            if not (visitor.seats.has_any or visitor.farewell)
        }
        silent_first = dict.fromkeys((*self._deadlines, *without_seat, *self._connections))
        leaving = who_gives_way(networks, ((each.remote.counted_as, each) for each in silent_first))
        if leaving in self._deadlines:
            leaving.abort()
        elif leaving in without_seat:
            without_seat[leaving].end(
                N_("Too many guests are here from your address, and others need the room.")
            )
        else:
            return False
        return True

    def _leave(self, connection: GuestConnection) -> None:
        self._connections.discard(connection)
        self._stop_clock(connection)

    def _stop_clock(self, connection: GuestConnection) -> None:
        if (deadline := self._deadlines.pop(connection, None)) is not None:
            deadline.cancel()

    # -- visits -------------------------------------------------------------------------------------

    def _terminal(self, login: Login) -> GuestTerminal:
        share = partial(self._share, login.connection.remote.counted_as[-1])
        budget = CpuBudget(self._limits.cpu_at_once, share, time.monotonic, self._cpu)
        return GuestTerminal(login.connection, self._limits, budget, self._turns, partial(self._begin, login))

    def _begin(self, login: Login, terminal: GuestTerminal) -> None:
        self._stop_clock(login.connection)
        task = asyncio.create_task(self._attend(login, terminal), name="guest")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attend(self, login: Login, terminal: GuestTerminal) -> None:
        """Show a guest the game, whatever happens; nobody else notices."""
        address = login.connection.remote.name
        log.info("guest came", extra=about(address=address))
        code = 1
        with speaking(language_at(terminal.environment)):
            try:
                code = await self._show(login, terminal)
            except WrongUse as error:
                terminal.say(str(error))
            except Exception as error:
                log.exception("a guest's screen failed", extra=about(address=address))
                terminal.say(describe_failure(error))
            finally:
                terminal.finish()
                log.info("guest left", extra=about(address=address))
        if not terminal.channel.is_closing():
            with contextlib.suppress(OSError):
                terminal.channel.exit(code)
        await login.connection.end(_SECONDS_TO_SAY_GOODBYE)

    def _identify(self, login: Login) -> tuple[str, str | None]:
        """Return who a guest is, and the word made up for them if they need one; raises WrongUse."""
        if connection.resembles_word(login.name):
            address, now = login.connection.remote.counted_as, asyncio.get_running_loop().time()
            if (wait := self._wrong_words.wait(address, now)) > 0:
                text = _("Too many wrong secret words came from your address. Wait {seconds} s.")
                raise WrongUse(text.format(seconds=wait))
            here = connection.of_word(login.name.strip())
            if self._book.knows(here):
                return here, None
            self._wrong_words.count(address, now)
            raise WrongUse(
                _("No seat is kept for this word. Check how it is spelt, or come under another name.")
            )
        if login.guest is not None:
            return login.guest, None
        word = connection.new_word()
        return connection.of_word(word), word

    async def _show(self, login: Login, terminal: GuestTerminal) -> int:
        """Show a guest the game until the visit ends; return the exit code. Raises WrongUse."""
        if terminal.wants_command:
            raise WrongUse(_("There is only the game here. Connect without a command."))
        here, word = self._identify(login)
        back = _("Your seat is kept: connect again in the same way to return to it.")
        if word is not None:
            text = _("Your way back to your seat, even from another computer; keep it secret: {command}")
            back = text.format(command=login.connection.way_in(word))
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        # Two people may share a computer, and so a key; the holder of a word is one.
        by_word = login.guest is None or connection.resembles_word(login.name)
        who = (here, "" if by_word else login.name)
        if (before := self._visitors.get(who)) is not None:
            before.end(N_("You have come back in another window."))
            await before.gone.wait()
        seats = self._book.seats(here, self._server.called)
        visitor = _Visitor(terminal, login, task, seats, back, word is not None)
        self._visitors[who] = visitor
        try:
            visited = await self._visit(visitor)
        except asyncio.CancelledError:
            task.uncancel()
            terminal.say(_(visitor.farewell))
            if seats.last_table() is not None:
                terminal.say(back)
            return 1
        finally:
            visitor.gone.set()
            if self._visitors.get(who) is visitor:
                del self._visitors[who]
        if visited.sentence:
            terminal.say(visited.sentence)
        return visited.code

    async def _visit(self, visitor: _Visitor) -> Visit:
        """Show the game until the guest leaves it; return how that ended."""
        terminal, seats, login = visitor.terminal, visitor.seats, visitor.login
        remote, access, here = login.connection.remote, self._server.access, terminal.environment

        async def suggest(view: View, legal: Legal) -> Suggestion:
            async with self._hints.turn(remote.counted_as):
                return await suggest_move(view, legal)

        name = "" if connection.resembles_word(login.name) else login.name
        address = remote.name if remote.address is None else str(remote.address)
        looking_back = LookingBack(
            recording_of, None, keep=seats.keep_game, games=partial(looking_at_games, seats.games)
        )
        device = terminal.device(Colouring().resolved(here), Calling().resolved(here))
        player = Player(
            _name_for(name or seats.name),  # whoever comes by a word has no other name than the last one
            suggest,
            looking_back,
            show=partial(shown_alone, device=device),
            comes_by="ssh",
        )
        access = replace(access, headers={**access.headers, "X-Forwarded-For": address})
        there = Destination(self._server.url, access, ways=Ways(way_in=login.connection.way_in()))
        keeping = Keeping(seats, visitor.back, visitor.back if visitor.new else "")
        stay = Stay(at_table(seats.last_table()), keeping)
        if visitor.new:
            terminal.say(visitor.back)  # it stays on the terminal below the game
        tries = 0
        while True:
            visited = await visit(player, there, stay)
            if not visited.password_wanted or tries == self._limits.password_tries:
                return visited
            tries += 1
            terminal.say(visited.sentence)
            terminal.show_typing(shown=False)
            terminal.write(_("Password: "))
            password = None
            try:
                async with asyncio.timeout(self._limits.password_seconds):
                    password = await terminal.line()
            except TimeoutError:
                pass
            finally:
                terminal.show_typing(shown=True)
                terminal.say("\n")
            if password is None:
                return visited
            there = replace(there, access=replace(there.access, password=password))

    # -- looking after them -------------------------------------------------------------------------

    def _share(self, network: str) -> float:
        """Return a guest's share of a processor: each network has as much as others, for all its guests."""
        networks = Counter(each.remote.counted_as[-1] for each in self._connections)
        return self._limits.cpu / max(self._limits.least_share, len(networks) * networks[network])

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        tidied = loop.time()
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            now = loop.time()
            for visitor in list(self._visitors.values()):
                if visitor.terminal.look_after(now):
                    slow = visitor.login.connection
                    log.info("guest dropped: it reads too slowly", extra=about(address=slow.remote.name))
                    slow.abort()
            if now - tidied > _SECONDS_BETWEEN_TIDYINGS:
                tidied = now
                with contextlib.suppress(OSError):  # it will be tried again
                    await asyncio.to_thread(self._book.tidy)
