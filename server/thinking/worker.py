"""A process that thinks for the server: `python -m server.thinking.worker`.

It answers one question after another until its input ends, also in the middle of a thought: the server ends
it in this way, and cannot end, however it does, without that.
"""

import os
import pickle
import queue
import random
import sys
import threading
import time
from typing import IO, Final

from engine.events import Command, LayTile, Place
from server.thinking.messages import FRAME_HEAD, Thought, pack_frame

_NICE: Final = 10  # below the server, which then never waits for this process to have the processor


def main() -> None:
    """Answer until the input ends."""
    if sys.platform != "win32":  # there the server starts it below its own priority
        os.nice(_NICE)
    answers = _answers()
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, questions), daemon=True).start()
    used = 0.0
    while True:
        command, error, kept = _think(questions.get())
        before, used = used, time.process_time()
        try:
            answers.write(pack_frame(Thought(command, error, used - before, kept)))
            answers.flush()
        except OSError:
            os._exit(0)


def _answers() -> IO[bytes]:
    """Return where answers go; what a brain prints goes where errors do."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _read(frames: IO[bytes], questions: "queue.SimpleQueue[bytes]") -> None:
    """Read questions until the input ends, and then end the process, whatever it is thinking about."""
    while len(head := frames.read(FRAME_HEAD)) == FRAME_HEAD:
        questions.put(frames.read(int.from_bytes(head)))
    os._exit(0)


def _think(content: bytes) -> tuple[Command | None, str, bytes]:
    """Return the command that a brain chooses, or else which error there was, and what the brain keeps."""
    try:
        choose, view, legal, seed, earlier, kept = pickle.loads(content)  # noqa: S301 - from the server alone
        if kept:
            choose = pickle.loads(kept)  # noqa: S301 - from another such process
        else:
            for seen in earlier if hasattr(choose, "game_over") else ():
                choose = choose.game_over(seen) or choose
            if hasattr(choose, "game_begins"):
                choose = choose.game_begins(view) or choose
        command = choose(view, legal, random.Random(seed))
        kept = pickle.dumps(choose) if hasattr(choose, "game_begins") else b""
    except Exception as error:  # noqa: BLE001 - whatever fails in a brain, the server has to be told
        return None, type(error).__name__, b""  # the text could reveal the seat's hand
    return (command, "", kept) if isinstance(command, LayTile | Place) else (None, "TypeError", b"")


if __name__ == "__main__":
    main()
