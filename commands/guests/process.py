"""The door as a process of its own beside a server: its screens take no time of the server's."""

import contextlib
import importlib.util
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

from client.language import WrongUse, _
from server.monitoring.logs import about
from server.net.addresses import reachable
from server.version import install_command, module_process

log = logging.getLogger(__name__)

# As the server's address: the input's first line has it, with the token and what the server is called where
# seats are kept. The door ends with the input.
FROM_INPUT: Final = "-"
_SECONDS_TO_END: Final = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds


@dataclass(frozen=True, slots=True)
class OpenDoor:
    port: int
    fingerprint: str


def need_asyncssh() -> None:
    """Raise WrongUse if the package is missing that speaks ssh."""
    if importlib.util.find_spec("asyncssh") is None:
        text = _("ssh needs the package asyncssh: install it with {command}")
        raise WrongUse(text.format(command=install_command("ssh")))


def announcement(host: str, port: int, fingerprint: str) -> str:
    text = _("Guests play with nothing installed; the key of this host is {fingerprint}")
    told = text.format(fingerprint=fingerprint)
    return "\n".join((told, *(f"  ssh -p {port} {address}" for address in reachable(host))))


class DoorProcess:
    """Runs `palatinus guests` at a port, with these options, and again when it has ended by itself.

    It logs where this process does, or is `silent` where that would spoil a screen.
    """

    def __init__(self, port: int, options: Sequence[str], *, silent: bool = False) -> None:
        self._port = port
        program, self._environment = module_process("palatinus")
        self._command = [*program, "guests", "--server", FROM_INPUT, *options]
        self._errors = subprocess.DEVNULL if silent else None
        self._server = ""
        self._closing = threading.Event()
        self._watching: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> OpenDoor:
        """Start the process, which listens at once, and lets nobody in yet.

        Raises WrongUse if it cannot; it has said why.
        """
        # In a group of its own: Ctrl-C in the terminal is the server's, which ends this process in good time.
        group = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            [*self._command, "--ssh", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=self._environment,
            **group,
        )
        port, _space, fingerprint = _of(self._process.stdout).readline().strip().partition(" ")
        if not fingerprint:
            self._process.wait()
            _let_go(self._process)
            raise WrongUse(_("guests cannot join over ssh"))
        self._port = int(port)  # the same again, if any would do
        return OpenDoor(self._port, fingerprint)

    def let_in(self, url: str, token: str, called: str) -> None:
        """Admit guests, who play at this address; from now on the process is kept running."""
        self._server = f"{url} {token} {called}\n"
        self._tell_server()
        self._watching = threading.Thread(target=self._keep_running, name="door", daemon=True)
        self._watching.start()

    def close(self) -> None:
        self._closing.set()
        if self._process is not None:
            _end(self._process)
        if self._watching is not None:
            self._watching.join(_SECONDS_TO_END)

    def _tell_server(self) -> None:
        assert self._process is not None  # noqa: S101 - it has been started
        with contextlib.suppress(OSError):  # it has ended, which is noticed where that is waited for
            _of(self._process.stdin).write(self._server)
            _of(self._process.stdin).flush()

    def _keep_running(self) -> None:
        pause = _FIRST_PAUSE
        assert self._process is not None  # noqa: S101 - it has been started
        while not self._closing.is_set():
            code = self._process.wait()
            if self._closing.is_set():
                return
            _let_go(self._process)
            log.error("the ssh gateway has ended, and is started again", extra=about(code=code))
            if self._closing.wait(pause):
                return
            pause = min(2 * pause, _LONGEST_PAUSE)
            with contextlib.suppress(WrongUse, OSError):  # it has said why, and is tried again
                self.start()
                self._tell_server()
        _end(self._process)  # it was started while the door was being closed


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        _of(process.stdin).close()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _let_go(process)


def _let_go(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            _of(stream).close()


def _of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None  # noqa: S101 - both are pipes
    return stream
