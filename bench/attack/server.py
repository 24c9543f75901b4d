"""The server under attack: `palatinus serve` with its default limits, in a process of its own."""

import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from bench.load.process import cpu_of

_PROGRAM: Final = Path(__file__).parents[2] / "palatinus.py"
_PATIENCE: Final = 120.0  # seconds until a server that does not stop is killed


class AttackedServer:
    """A running server."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, log: Path) -> None:
        self.port = port
        self._log = log
        self._process = process
        self._seen = psutil.Process(process.pid)

    @property
    def resident(self) -> float:
        """Return the memory it holds, in MB."""
        return float(self._seen.memory_info().rss) / 1e6

    @property
    def peak(self) -> float:
        """Return the most memory that it has held, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6

    @property
    def cpu(self) -> float:
        """Return the seconds of CPU it has used."""
        return cpu_of(self._seen)

    @property
    def complaints(self) -> int:
        """Return how many lines it has logged: only warnings and errors are."""
        return self._log.read_bytes().count(b"\n")

    def stop(self) -> float:
        """Stop it by SIGTERM; return the seconds that takes."""
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(_PATIENCE)
        return time.monotonic() - began


@contextlib.contextmanager
def running(host: str, *options: str, tls: bool, key: str = "ec") -> Iterator[AttackedServer]:
    """Serve while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="palatinus-attack-") as folder:
        log = Path(folder) / "log"
        command = [sys.executable, str(_PROGRAM), "serve", "--lang", "en", "--host", host, "--port", "0"]
        command += ["--data", folder, "--no-config", *options]
        if tls:
            command += ["--tls-cert", str(_certificate(Path(folder), key))]
        with (
            log.open("wb") as complaints,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
        ):
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if found := re.search(r"join \S*:(\d+)$", line):
                        yield AttackedServer(process, int(found[1]), log)
                        break
                else:
                    raise RuntimeError("the server did not start")
            finally:
                process.kill()


def _certificate(folder: Path, kind: str) -> Path:
    """Make a certificate and its key in one file."""
    path, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", kind, "-nodes"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1"] if kind == "ec" else []
    command += ["-subj", "/CN=attacked", "-days", "1", "-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    with path.open("a", encoding="ascii") as both:
        both.write(key.read_text(encoding="ascii"))
    return path
