"""What a process costs in which bots of a server think: `python -m bench.bots.thinking`.

For each level it starts a process and asks it for the first two moves of a game for two players.
"""

import asyncio
import random

import psutil

from client.bots.brains import LEVELS
from engine.game import Game, GameOptions, RandomChance
from engine.redaction import snapshot
from engine.view import eyes_of
from server.thinking.messages import Question, pack_frame
from server.thinking.processes import ask_worker, end_worker, start_worker

_MIB = 2**20


async def _measure() -> None:
    game = Game.new(GameOptions(2, random_layout=True), RandomChance(random.Random(1)))
    legal = game.legal()
    assert legal is not None
    view = snapshot(game.view, eyes_of(legal.seat))
    print("level      first move  next move  private memory")
    for name, brain in LEVELS.items():
        question = pack_frame(Question(brain, view, legal, 1))
        worker = await start_worker()
        seconds = [(await ask_worker(worker, question)).seconds for _ in range(2)]
        private = psutil.Process(worker.pid).memory_full_info().uss / _MIB
        await end_worker(worker)
        print(f"{name:<10} {seconds[0]:8.2f} s {seconds[1]:8.2f} s {private:11.1f} MiB")


if __name__ == "__main__":
    asyncio.run(_measure())
