"""The engine, the codec and a search on one core: how often a second each can do its work.

python -m bench.engine
"""

import functools
import json
import random
import time
from collections.abc import Callable
from typing import Final

from bench import Samples
from client.bots.search.tree import TreeSearch
from engine.components import DEALS
from engine.game import Game, GameOptions, RandomChance
from engine.legal import LegalPlaces, random_command
from engine.pieces import Piece, Seat
from engine.redaction import redacted, snapshot
from engine.scoring import Board, scored
from engine.view import eyes_of
from protocol.codec import decode_client, decode_server, encode
from protocol.events import event_map, legal_message
from protocol.messages import Events, PlacePiece

_SECONDS: Final = 0.3
_REPEATS: Final = 5
_SIMULATIONS: Final = 5000


def per_second(work: Callable[[], object], seconds: float = _SECONDS) -> list[float]:
    """Return samples of how many times per second `work` runs."""
    work()
    found = []
    for _ in range(_REPEATS):
        count, began = 0, time.perf_counter()
        while (took := time.perf_counter() - began) < seconds / _REPEATS:
            work()
            count += 1
        found.append(count / took)
    return found


def placed_at_random(players: int, rng: random.Random) -> Game:
    """Play a game of random pieces on random fields to its end, without listing every command."""
    game = Game.new(GameOptions(players, random_layout=True), RandomChance(rng))
    while (legal := game.legal()) is not None:
        game.apply(random_command(legal, rng))
    return game


def samples() -> Samples:
    """Return how often a second the engine and the codec do what a server asks of them."""
    found: Samples = {}
    for players in DEALS:
        play = functools.partial(placed_at_random, players, random.Random(players))
        found[f"engine: whole games of {players} told as events /s"] = per_second(play, 1.0)
    whole = placed_at_random(4, random.Random(1))
    view = whole.view
    board = {field: Piece(piece) for field, piece in view.placed.items()}
    found["engine: scorings /s"] = per_second(
        lambda: list(scored(Board(view.layout, board, view.owners), view.laurels, 4))
    )
    half = Game(whole.events[: len(whole.events) // 3], RandomChance(random.Random(1)))
    legal = half.legal()
    assert isinstance(legal, LegalPlaces)
    eyes = eyes_of(Seat(0))
    command = next(iter(legal.commands()))
    (event, *_) = half.decided(command)
    found["engine: legal moves /s"] = per_second(half.legal)
    found["engine: decisions /s"] = per_second(lambda: half.decided(command))
    found["engine: snapshots /s"] = per_second(lambda: snapshot(half.view, eyes))
    found["engine: redactions /s"] = per_second(lambda: redacted(event, eyes))
    message = Events(17, [event_map(event)], 1, legal_message(legal))
    frame = encode(message)
    command_frame = encode(PlacePiece(7, "Em*", "C4"))
    found["codec: events encoded /s"] = per_second(lambda: encode(message))
    found["codec: events decoded /s"] = per_second(lambda: decode_server(frame))
    found["codec: commands decoded /s"] = per_second(lambda: decode_client(command_frame))
    for players in DEALS:
        found[f"search: {players} players, simulations/s"] = [
            simulations_per_second(players, random.Random(seed)) for seed in range(_REPEATS)
        ]
    return found


def simulations_per_second(players: int, rng: random.Random) -> float:
    """Return how fast a search is when all tiles are laid, on another layout each time."""
    game = Game.new(GameOptions(players, random_layout=True), RandomChance(rng))
    assert game.view.turn is not None
    search = TreeSearch(snapshot(game.view, eyes_of(game.view.turn)), rng)
    began = time.perf_counter()
    search.run(_SIMULATIONS)
    return _SIMULATIONS / (time.perf_counter() - began)


if __name__ == "__main__":
    print(json.dumps(samples()))
