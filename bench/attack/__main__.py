"""One stranger against a server with its default limits, and what a game beside the attack feels of it.

    python -m bench.attack MODE|all [--seconds S] [--same-address] [--markdown] [--connections N]
                                    [--addresses N] [--host ADDRESS] [--json FILE]

The game is played by four seats: first alone, then beside the attack, then for as long as the memory has to
come back. Beside the attack a fifth player loses the connection every second and comes back. In the end the
server is stopped in the middle of another attack. bench/results/attack.json has the figures.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.attack import connections, pages, tables
from bench.attack.bystander import Bystander, ReturningPlayer
from bench.attack.client import TRUSTING, Mode, Target
from bench.load.process import serving

MODES: Final = {mode.name: mode for mode in (*connections.MODES, *tables.MODES, *pages.MODES)}
_SECONDS_ALONE: Final = 10.0  # at most: no more games than have begun can be played
_SECONDS_TO_RECOVER: Final = 10.0
_SECONDS_BEFORE_THE_STOP: Final = 3.0
_SPAWN: Final = multiprocessing.get_context("spawn")
_COLUMNS: Final = {  # of the table: figures and their headings
    "idle: longest, ms": "longest move before",
    "attack: p50, ms": "p50",
    "attack: p99, ms": "p99",
    "attack: longest, ms": "longest",
    "attack: longest way back, ms": "longest way back",
    "attack: server CPU, %": "CPU, %",
    "memory at most, MB": "most memory, MB",
    "memory after, MB": "10 s after, MB",
    "SIGTERM to the end, s": "SIGTERM, s",
    "lines in the log": "log lines",
}


@contextmanager
def _attacking(mode: Mode, targets: Sequence[Target]) -> Iterator[None]:
    """Attack in a process for each target while the context lasts."""
    attackers = [_SPAWN.Process(target=mode.attack, args=(target,), daemon=True) for target in targets]
    for attacker in attackers:
        attacker.start()
    try:
        yield
    finally:
        for attacker in attackers:
            attacker.kill()
            attacker.join()


def measured(
    mode: Mode, host: str, seconds: float, many: int, addresses: int, *, same_address: bool
) -> dict[str, float]:
    """Return the figures of one attack."""
    with (
        tempfile.TemporaryDirectory(prefix="palatinus-attack-") as folder,
        serving(*mode.options, *_tls_options(mode, Path(folder)), host=host) as server,
    ):
        address = "::1" if ":" in host else host
        sources: list[str | None] = [None]
        if not same_address and ":" not in host:
            sources = [f"127.0.0.{2 + number}" for number in range(addresses)]
        targets = [Target(address, server.port, many, source) for source in sources]
        tls = TRUSTING if mode.tls else None
        bystander = Bystander(address, server.port, tls)
        returning = ReturningPlayer(address, server.port, tls)
        idle = bystander.play(min(seconds / 2, _SECONDS_ALONE))
        before = server.resident
        with _attacking(mode, targets):
            time.sleep(1.0)  # it has to start
            cpu, began = server.cpu, time.perf_counter()
            with returning:
                beside = bystander.play(seconds)
            busy = (server.cpu - cpu) / (time.perf_counter() - began)
        bystander.play(_SECONDS_TO_RECOVER)
        most, after = server.peak, server.resident
        with _attacking(mode, targets):
            time.sleep(1.0)
            bystander.play(_SECONDS_BEFORE_THE_STOP)
            stopped = server.stop()
        complaints = server.complaints
    figures = {f"idle: {name}": value for name, value in _described(idle, "moves").items()}
    figures |= {f"attack: {name}": value for name, value in _described(beside, "moves").items()}
    figures["attack: ways back"] = len(returning.returns)
    figures["attack: longest way back, ms"] = 1000 * max(returning.returns, default=0.0)
    figures["attack: server CPU, %"] = 100 * busy
    for when, memory in {"before": before, "at most": most, "after": after}.items():
        figures[f"memory {when}, MB"] = memory / 1e6
    return figures | {"SIGTERM to the end, s": stopped, "lines in the log": complaints}


def _tls_options(mode: Mode, folder: Path) -> tuple[str, ...]:
    """Return what the server needs for TLS, a certificate with its key in one file."""
    if not mode.tls:
        return ()
    path, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", mode.key, "-nodes"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1"] if mode.key == "ec" else []
    command += ["-subj", "/CN=attacked", "-days", "1", "-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    with path.open("a", encoding="ascii") as both:
        both.write(key.read_text(encoding="ascii"))
    return "--tls-cert", str(path)


def _described(waits: list[float], what: str) -> dict[str, float]:
    waits = sorted(1000 * wait for wait in waits)
    return {
        what: len(waits),
        "p50, ms": waits[len(waits) // 2],
        "p99, ms": waits[int(len(waits) * 0.99)],
        "longest, ms": waits[-1],
    }


def _markdown(found: dict[str, dict[str, float]]) -> str:
    """Return the figures of all attacks as a table."""
    lines = [f"| mode | attack | {' | '.join(_COLUMNS.values())} |", "|---|---|" + "---:|" * len(_COLUMNS)]
    for name, figures in found.items():
        values = [figures[column] for column in _COLUMNS]
        shown = [f"{value:,.{0 if value >= 20 or value == int(value) else 1}f}" for value in values]
        mode = MODES[name]
        lines.append(f"| `{name}` | {mode.summary} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _plain(figures: dict[str, float]) -> str:
    return "\n".join(f"{name:34}{value:>10,.1f}" for name, value in figures.items())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.attack",
        description=__doc__,
        epilog="\n".join(f"  {mode.name:15} {mode.summary}" for mode in MODES.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", choices=(*MODES, "all"), metavar="MODE")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the attack lasts, at most 60")
    parser.add_argument("--connections", type=int, help="how many at once, where the attack holds many")
    parser.add_argument(
        "--addresses", type=int, help="how many loopback addresses attack, each in its own process"
    )
    parser.add_argument("--same-address", action="store_true", help="attack from the game's own address")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on; ::1 for IPv6")
    parser.add_argument("--markdown", action="store_true", help="print the figures as a table in Markdown")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    found = {}
    for mode in MODES.values() if options.mode == "all" else (MODES[options.mode],):
        print(f"{mode.name}: {mode.summary}", file=sys.stderr, flush=True)
        many = options.connections or mode.connections
        found[mode.name] = measured(
            mode,
            options.host,
            options.seconds,
            many,
            options.addresses or mode.addresses,
            same_address=options.same_address,
        )
        if not options.markdown:
            print(_plain(found[mode.name]), flush=True)
    if options.markdown:
        print(_markdown(found))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
