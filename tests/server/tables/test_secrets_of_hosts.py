"""What hosts, players and those who run the server ask for in a game reveals no hidden piece.

Two games that differ only in the kinds of other seats' wolf pieces go the same way: with settings, pauses, a
bot of the server, a stand-in, a removed player and a newcomer, and an end without a result. All that the host
and a spectator are sent is the same to the last byte, and so is what the server logs and shows those who run
it.
"""

import contextlib
import json
import logging
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.board import FIELDS
from engine.events import Command, Place
from engine.legal import Legal
from engine.view import View
from palatinus import main
from protocol.absence import WAIT, GameClock
from protocol.codes import Code
from protocol.messages import (
    AskPause,
    ChangeSetting,
    Dismiss,
    EndGame,
    GetRecord,
    HandOver,
    Leave,
    ListTables,
    Ping,
    Remove,
    Say,
    SubstituteNow,
    Sync,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Title
from server.admin.endpoint import SOCKET_NAME
from server.app import running
from server.config import Config, Limits
from tests.server.admin.admin_peer import answer
from tests.server.manual_clock import ManualClock
from tests.server.match import piece_of
from tests.server.peer import Peer, all_caught_up, blanked, connected, game
from tests.server.tables.test_secrets import (
    CLOSING_LINES,
    OUR_LOGGERS,
    place_face,
    planned_faces,
    without_addresses,
)

PLAYERS, BOT, LEAVES, REMOVED = 4, 3, 1, 2  # seats; the host's is 0
SEED = 4
SEALED = re.compile(r"\b[ESLMA][mf]\*")


class Evening:
    """A game that goes by a plan, and all that learns of it to those who must not notice a difference."""

    def __init__(self, folder: Path, *, swapped: bool) -> None:
        self.told: list[bytes] = []
        self._folder = folder
        self._faces = planned_faces(PLAYERS, SEED, swapped=swapped)
        self._fields = random.Random(SEED).sample(FIELDS, len(FIELDS))
        self._blank: list[bytes] = []
        limits = Limits(stand_in_seconds=0, seat_grace_seconds=0)
        self._config = Config(
            data=folder,
            seed=SEED,
            stand_in=self._planned,
            brains={"planned": self._planned},
            limits=limits,
            timers=ManualClock,
            admin=folder / SOCKET_NAME,
        )

    def _planned(self, view: View, legal: Legal, _rng: random.Random) -> Command:
        turn = len(view.placed)
        face = self._faces[legal.seat][turn // PLAYERS]
        return Place(legal.seat, piece_of(view, legal.seat, face), self._fields[turn])

    async def _played(self, players: list[Peer], watching: list[Peer], turns: int) -> None:
        """Make so many turns; the stand-in and the bot make those of the seats that nobody here has."""
        seats = {peer.seat: peer for peer in players}
        host = players[0]
        for _ in range(turns):
            assert host.view is not None
            turn = len(host.view.placed)
            if (peer := seats.get(host.view.turn)) is not None:
                await place_face(peer, self._faces[turn % PLAYERS][turn // PLAYERS], self._fields[turn])
            await all_caught_up([*players, *watching], host.seq + (peer is not host))

    async def spend(self) -> None:
        """Let the evening take its course."""
        async with (
            running(self._config) as server,
            game(server.port, PLAYERS, watched=True, bots={BOT: "planned"}) as (host, one, two, spectator),
            connected(server.port) as newcomer,
        ):
            self._blank.append(host.code.encode())
            for number, peer in enumerate((host, one, two, spectator, newcomer)):
                peer.id = 1000 * number
                peer.frames.clear()  # their ids were others
            await self._played([host, one, two], [spectator], 5)
            for setting in (Title("Friday"), Private(on=True), Hints(on=True), Quiet(on=True)):
                await host.done(ChangeSetting(host.next_id(), setting))
            await host.done(ChangeSetting(host.next_id(), AbsenceSetting(GameClock(600))))
            await one.done(AskPause(one.next_id(), on=True))
            await host.done(AskPause(host.next_id(), on=True))
            await spectator.done(Say(spectator.next_id(), "I know"))
            await host.done(AskPause(host.next_id(), on=False))
            await host.done(ChangeSetting(host.next_id(), AbsenceSetting(WAIT)))
            await one.done(Leave(one.next_id()))
            await host.done(SubstituteNow(host.next_id(), LEAVES))
            # To a turn that is not the stand-in's, so that it cannot move while its player comes back.
            await self._played([host, two], [spectator], 5)
            await one.resume(host.code, one.token, one.seq)
            await self._played([host, one, two], [spectator], 2)
            await two.done(Leave(two.next_id()))
            await host.done(Remove(host.next_id(), REMOVED))
            self._blank.append((await newcomer.join(host.code, "Newcomer", REMOVED)).token.encode())  # type: ignore[union-attr]
            await newcomer.news()
            await self._played([host, one, newcomer], [spectator], 4)
            await host.done(HandOver(host.next_id(), LEAVES))
            await one.done(HandOver(one.next_id(), 0))
            await self._ask_as_operator()
            await host.done(EndGame(host.next_id()))
            await self._look_at([host, spectator])
            await host.done(Dismiss(host.next_id(), 1))
            for peer in (host, spectator):
                await peer.ask(ListTables(peer.next_id()))
                self._take(peer)
            await self._ask_as_operator()
            self._blank += [peer.token.encode() for peer in (host, one, two)]
        async with self._again(host) as back:
            await self._look_at([back])
            self._take(back)
            await self._ask_as_operator()

    @contextlib.asynccontextmanager
    async def _again(self, host: Peer) -> AsyncIterator[Peer]:
        """Start the server again, and bring the host back, who remembers nothing."""
        async with running(self._config) as server, connected(server.port) as back:
            back.id = 9000
            await back.resume(host.code, host.token)
            await back.news()
            yield back

    async def _look_at(self, peers: list[Peer]) -> None:
        """Ask for all that there is to know of the game."""
        for peer in peers:
            assert (await peer.refused(GetRecord(peer.next_id()))).code == Code.NOT_OVER
            peer.view, peer.seq = None, 0
            await peer.done(Sync(peer.next_id(), 0))
            await peer.ask(Ping(peer.next_id()))

    def _take(self, peer: Peer) -> None:
        self.told += peer.frames

    async def _ask_as_operator(self) -> None:
        for question in ("tables", "stored"):
            for table in await answer(self._folder, question):
                times = {key: 0 for key in ("opened", "changed") if key in table}
                self.told.append(json.dumps(table | times).encode())

    def all_told(self) -> list[bytes]:
        """Return what was told, without what differs from run to run."""
        return [blanked(frame, self._blank) for frame in self.told]

    def lines(self, log: pytest.LogCaptureFixture) -> list[str]:
        """Return what the server logged, without what differs from run to run."""
        code, folder = self._blank[0].decode(), str(self._folder)
        return sorted(
            without_addresses(record, code).replace(folder, "FOLDER")
            for record in log.records
            if record.name.startswith(OUR_LOGGERS) and record.getMessage() not in CLOSING_LINES
        )


async def spent(
    folder: Path, log: pytest.LogCaptureFixture, *, swapped: bool
) -> tuple[list[bytes], list[str], str]:
    """Return what was told, what was logged, and the code of the table."""
    log.clear()
    evening = Evening(folder, swapped=swapped)
    await evening.spend()
    return evening.all_told(), evening.lines(log), evening._blank[0].decode()


async def test_no_byte_of_what_is_asked_for_depends_on_hidden_kinds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does what `palatinus tables show` prints of the game that has ended without a result."""
    caplog.set_level(logging.DEBUG)
    one, one_log, one_code = await spent(tmp_path / "one", caplog, swapped=False)
    two, two_log, two_code = await spent(tmp_path / "two", caplog, swapped=True)
    early = [
        [seat[:5] for seat in planned_faces(PLAYERS, SEED, swapped=swapped)] for swapped in (False, True)
    ]
    assert all(early[0][seat] != early[1][seat] for seat in (LEAVES, REMOVED, BOT))
    assert len(one) > 100
    assert one == two
    assert one_log == two_log
    assert any("game ended by its host" in line for line in one_log)
    shown = []
    for folder, code in (("one", one_code), ("two", two_code)):
        assert main(["tables", "show", code, "--data", str(tmp_path / folder)]) == 0
        out = capsys.readouterr().out.replace(code, "CODE")
        shown.append(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", out))
        assert not SEALED.search(out)
    assert shown[0] == shown[1]
