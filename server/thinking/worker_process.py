"""A process that thinks, as the server sees it."""

import asyncio
import contextlib
import pickle
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any

from server.thinking.messages import FRAME_HEAD, MOST_BYTES, Thought
from server.version import module_process


class WorkerProcess:
    """Answers questions, one at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def started(cls) -> "WorkerProcess":
        """Start a process; raises OSError if the system does not let it."""
        # In a group of its own: Ctrl-C in the terminal is the server's, with which this process ends.
        group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS
            group = {"creationflags": flags}
        command, environment = module_process("server.thinking.worker")
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, **group
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """Return the system's number of the process."""
        return self._process.pid

    async def answer(self, question: bytes) -> Thought:
        """Return the answer to a question in a frame; raises whatever shows that the process is lost."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - both are pipes
        assert stdout is not None  # noqa: S101
        stdin.write(question)
        await stdin.drain()
        length = int.from_bytes(await stdout.readexactly(FRAME_HEAD))
        if length > MOST_BYTES:
            raise ValueError(f"an answer of {length} bytes")
        answer = pickle.loads(await stdout.readexactly(length))  # noqa: S301 - of the host's own brain
        if not (isinstance(answer, Thought) and isinstance(answer.seconds, float)):
            raise TypeError(f"a {type(answer).__name__} is no thought")
        return answer

    async def end(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
