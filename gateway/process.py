"""The gateway as a process of its own beside a server: its screens take no time of the server's."""

import contextlib
import importlib.util
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from client.language import WrongUse, _
from server.monitoring.logs import about
from server.net.addresses import reachable
from server.version import install_command, module_process

log = logging.getLogger(__name__)

SSH_PORT: Final = 7722

# As the server's address: the input's first line has it, with the token and what the server is called where
# seats are kept. The gateway ends with the input.
FROM_INPUT: Final = "-"
_SECONDS_TO_END: Final = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds


def need_asyncssh() -> None:
    """Raise WrongUse if the package is missing that speaks ssh."""
    if importlib.util.find_spec("asyncssh") is None:
        text = _("ssh needs the package asyncssh: install it with {command}")
        raise WrongUse(text.format(command=install_command("ssh")))


def describe_ways_in(host: str, port: int, fingerprint: str) -> str:
    text = _("Guests play with nothing installed; the key of this host is {fingerprint}")
    told = text.format(fingerprint=fingerprint)
    return "\n".join((told, *(f"  ssh -p {port} {address}" for address in reachable(host))))


class GatewayProcess:
    """Runs `palatinus guests` at a port, with these options, and again when it has ended by itself.

    It logs where this process does, or is `silent` where that would spoil a screen. Once it has started,
    `port` and `fingerprint` say how guests find it.
    """

    fingerprint: str
    _process: subprocess.Popen[str]

    def __init__(self, port: int, options: Sequence[str], *, silent: bool = False) -> None:
        self.port = port
        program, self._environment = module_process("palatinus")
        self._command = [*program, "guests", "--server", FROM_INPUT, *options]
        self._errors = subprocess.DEVNULL if silent else None
        self._server = ""
        self._closing = threading.Event()
        self._watching: threading.Thread | None = None

    def start(self) -> None:
        """Start the process, which listens at once, and lets nobody in yet.

        Raises WrongUse if it cannot; it has said why.
        """
        # In a group of its own: Ctrl-C in the terminal is the server's, which ends this process in good time.
        group = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            [*self._command, "--ssh", str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=self._environment,
            **group,
        )
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        with self._process.stdout as output:
            port, _space, self.fingerprint = output.readline().strip().partition(" ")
        if not self.fingerprint:
            self._end()
            raise WrongUse(_("guests cannot join over ssh"))
        self.port = int(port)  # the same again, if any would do

    def let_in(self, url: str, token: str, called: str) -> None:
        """Admit guests, who play at this address; from now on the process is kept running."""
        self._server = f"{url} {token} {called}\n"
        self._tell_server()
        self._watching = threading.Thread(target=self._keep_running, name="gateway", daemon=True)
        self._watching.start()

    def close(self) -> None:
        self._closing.set()
        self._end()
        if self._watching is not None:
            self._watching.join(_SECONDS_TO_END)

    def _tell_server(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        # It has ended, which is noticed where that is waited for; or `close` has been called.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(self._server)
            self._process.stdin.flush()

    def _keep_running(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closing.is_set():
            code = self._process.wait()
            if self._closing.is_set():
                return
            self._end()
            log.error("the ssh gateway has ended, and is started again", extra=about(code=code))
            if self._closing.wait(pause):
                return
            pause = min(2 * pause, _LONGEST_PAUSE)
            with contextlib.suppress(WrongUse, OSError):  # it has said why, and is tried again
                self.start()
                self._tell_server()
        self._end()  # it was started while the gateway was being closed

    def _end(self) -> None:
        """Close the process's input, which ends it, and wait for that."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
