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

from engine.pieces import Seat
from protocol.codec import decode_server, encode
from protocol.events import legal_of
from protocol.messages import Snapshot
from protocol.moves import move_message
from protocol.snapshot import view_of
from server.config import Choose
from server.thinking.messages import FRAME_HEAD, Position, Thought, framed, question_in

_NICE: Final = 10  # below the server, which then never waits for this process to have the processor


def main() -> None:
    """Answer until the input ends."""
    if sys.platform != "win32":  # there the server starts it below its own priority
        os.nice(_NICE)
    answers = _answers()
    questions: queue.SimpleQueue[Position] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, questions), daemon=True).start()
    used = 0.0
    while True:
        move, error = _thought(questions.get())
        before, used = used, time.process_time()
        try:
            answers.write(framed(Thought(move, error, used - before)))
            answers.flush()
        except OSError:
            os._exit(0)


def _answers() -> IO[bytes]:
    """Return where answers go; what a brain prints goes where errors do."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _read(frames: IO[bytes], questions: "queue.SimpleQueue[Position]") -> None:
    """Read questions until the input ends, and then end the process, whatever it is thinking about."""
    while len(head := frames.read(FRAME_HEAD)) == FRAME_HEAD:
        questions.put(question_in(frames.read(int.from_bytes(head))))
    os._exit(0)


def _thought(question: Position) -> tuple[bytes, str]:
    """Return the frame of the move, and which error there was instead."""
    try:
        snapshot = decode_server(question.snapshot)
        assert isinstance(snapshot, Snapshot)  # noqa: S101 - the server has just made it
        assert snapshot.legal is not None  # noqa: S101
        seat = Seat(question.seat)
        choose: Choose = pickle.loads(question.brain)  # noqa: S301 - from the server alone
        command = choose(
            view_of(snapshot, seat), legal_of(snapshot.legal, seat), random.Random(question.seed)
        )
        return encode(move_message(0, command)), ""
    except Exception as error:  # noqa: BLE001 - whatever fails in a brain, the server has to be told
        return b"", type(error).__name__  # the text could reveal the seat's hand


if __name__ == "__main__":
    main()
