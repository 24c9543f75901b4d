"""What an attack is: something that one process does to a server until it is ended."""

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

TRUSTING: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE


@dataclass(frozen=True)
class Target:
    """Where an attack goes."""

    host: str
    port: int
    connections: int  # how many at once, where the attack holds many
    source: str | None = None  # the address it comes from; None is the system's choice


@dataclass(frozen=True)
class Mode:
    """An attack by its name; `run` goes on until its process is ended."""

    name: str
    summary: str
    run: Callable[[Target], None]
    connections: int = 240  # fewer than one address may have
    addresses: int = 1  # each attacks in a process of its own
    tls: bool = False
    key: str = "ec"  # of the server with TLS
    options: tuple[str, ...] = ()  # of `palatinus serve`

    def attack(self, target: Target) -> None:
        """Run in this process, after the others: an attack comes from another machine."""
        os.nice(10)
        self.run(target)
