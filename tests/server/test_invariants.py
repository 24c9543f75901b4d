"""Fold, replay and legal moves over real sockets, for every seat and a spectator, under every absence policy.

Tiles are laid, players come and go, vote and run out of time, and the stand-in plays for them.
"""

import shutil
from pathlib import Path

from engine.record import recorded, replayed
from protocol.absence import WAIT
from protocol.events import legal_of
from protocol.messages import Sync
from server.app import running
from server.config import Config
from tests.server.manual_clock import ManualClock
from tests.server.match import LIMITS, Match, Script, match, some_scripts
from tests.server.peer import Peer
from tests.server.playing import check_views, peer_on_turn, table_of
from tests.server.storage.test_journal import resumed, table_facts


@some_scripts("vote")
async def test_folds_are_snapshots_and_rebuilt_servers_the_same(script: Script, tmp_path: Path) -> None:
    """At every turn, a client's fold equals a snapshot and shows exactly what its seat may know.

    At any moment, a server that is rebuilt from the journal is the same for every seat and a spectator; and
    a record replays to the same events. Only the seat to move has a list of legal commands, the game's own.
    """
    data = tmp_path / "data"
    async with match(script, data) as playing:
        game = table_of(playing.server, playing.peers).state.game
        assert game is not None
        while playing.turns_left:
            if (mover := peer_on_turn(playing.present)) is not None:
                assert mover.seat is not None
                assert mover.legal is not None
                assert legal_of(mover.legal, mover.seat) == game.legal()
            await playing.turn()
            check_views(table_of(playing.server, playing.peers), playing.present)
            await check_snapshot(playing.present[playing.turns % len(playing.present)])
            if playing.turns % 10 == script.seed or not playing.turns_left:
                copy = tmp_path / f"after {playing.turns}"
                shutil.copytree(data, copy)  # between commits: what is left if the server is killed here
                await check_rebuilt(playing, copy)
        assert all(peer.view is not None and peer.view.result is not None for peer in playing.present)
        replaced = script.absence != WAIT or bool(script.programs)
        assert (playing.stand_in_moves > 0) == replaced


async def check_rebuilt(playing: Match, data: Path) -> None:
    """Fail unless a server on this folder has the same match."""
    table, clock = table_of(playing.server, playing.peers), ManualClock()
    config = Config(data=data, limits=LIMITS, timers=lambda: clock)
    async with running(config) as server, resumed(server.port, *playing.present) as peers:
        facts = table_facts(table_of(server, peers).state)
        assert facts | {"entries": 0} == table_facts(table.state) | {
            "entries": 0
        }  # a long journal is shortened
        for peer, before in zip(peers, playing.present, strict=True):
            assert (peer.view, peer.seq, peer.legal) == (before.view, before.seq, before.legal)
            await check_snapshot(peer)
    game = table.state.game
    assert game is not None
    assert replayed(recorded(game.events)).events == game.events


async def check_snapshot(peer: Peer) -> None:
    """Fail unless a snapshot equals what the peer has folded, legal moves included."""
    view, seq, legal = peer.view, peer.seq, peer.legal
    assert view is not None
    await peer.done(Sync, 0)
    assert peer.view is not view
    assert peer.view == view
    assert list(peer.view.placed) == list(view.placed)
    assert (peer.seq, peer.legal) == (seq, legal)
    peer.view = view  # and the fold goes on
