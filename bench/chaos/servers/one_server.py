"""One server, with its journal in a file: killed, out of disk, and without power."""

import asyncio
import contextlib
import random
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import trustme

from bench.chaos.network.proxy import Encryption, Proxy
from bench.chaos.servers.power_cut import PowerCuts
from bench.chaos.servers.server_process import ServerProcess
from client.network.transport import Access
from server.storage.entries import Entry
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS
from simulation.people.operator import SAID_ABOUT_REQUESTS, Operator
from simulation.people.plan import Disturbance, Plan
from simulation.verdict import journal_in
from simulation.wiretap import Wiretap

_SECONDS_FOR_RECORDS: Final = 15.0
_SECONDS_BETWEEN_LOOKS: Final = 0.1
_LEFT_ON_A_FULL_DISK: Final = 3000  # bytes: less than a page, so that a write may be cut
# What a server says when its disk is full, and in no other case.
_SAID_ABOUT_THE_DISK: Final = re.compile(
    r"not stored|stored again|not archived|not removed|cannot be cleared|cannot be written"
    r"|(WARNING|ERROR) [^:]*record"
)
_LENGTH: Final = re.compile(r"\b([A-Z]{4,8})[=~](\d+):")


class OneServer:
    """The servers of a plan for one; all its files are in `folder`."""

    def __init__(
        self, plan: Plan, folder: Path, carried: Callable[[Wiretap], None], counts: Counter[str]
    ) -> None:
        self._plan = plan
        self._rng = random.Random(f"{plan.seed} server")
        self._data = folder / "data"
        self._records = folder / "records"
        self._certificate = folder / "certificate.pem" if plan.tls else None
        self.authority: Path | None = folder / "authority.pem" if plan.tls else None
        encryption = self._encryption()
        self.access = Access() if encryption is None else Access(encryption.to_server)
        self.proxy = Proxy(plan.seed, plan.longest_hold, carried, encryption)
        self._port = 0
        self._power_cuts = PowerCuts(self._data, folder, plan.seed) if plan.power_cuts else None
        self._server = ServerProcess(
            "",
            folder / "data.log",
            self._options(),
            environment={} if self._power_cuts is None else self._power_cuts.environment,
            broken=plan.broken,
        )
        self._admin = Operator(self._data, random.Random(f"{plan.seed} operator"), counts)
        self.operator: Operator | None = self._admin
        self.long_tables: set[str] = set()
        self._was_out_of_disk = False

    def _options(self) -> list[str]:
        options = ["--data", str(self._data), "--records", str(self._records)]
        options += ["--max-tables", str(self._plan.most_tables)]
        options += ["--durable", "full" if self._plan.durable else "normal"]
        if self._certificate is not None:
            options += ["--tls-cert", str(self._certificate)]
        return options

    def _encryption(self) -> Encryption | None:
        if self._certificate is None or self.authority is None:
            return None
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.authority)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(self._certificate)
        to_clients = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        to_clients.load_cert_chain(self._certificate)
        to_server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(to_server)
        return Encryption(to_clients, to_server)

    @property
    def url(self) -> str:
        return f"{'wss' if self._plan.tls else 'ws'}://127.0.0.1:{self._port}"

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            await self._server.start()
            async with self.proxy.door(lambda: self._server.destination) as self._port:
                yield
        finally:
            self._server.kill()
            await self._gone()

    def strike(self, kind: Disturbance, server: str) -> None:  # noqa: ARG002 - there is but one
        if kind is Disturbance.KILL:
            self._server.kill()

    async def carry_out(self, kind: Disturbance) -> str | None:
        hold, wrong = self._plan.longest_hold, None
        match kind:
            case Disturbance.KILL:
                await self._gone()
                await asyncio.sleep(self._rng.choice([0.0, hold / 6]))
                await self._server.start()
            case Disturbance.FULL_DISK:
                await self._fill_disk(hold * self._rng.choice([0.05, 0.2]))
            case Disturbance.DRAIN:
                if await self._admin.drain() and not await self._server.ended():
                    wrong = "the server did not stop though it was drained"
                self._server.kill()
                await self._gone()
                await self._server.start()
            case _:
                await self._server.pause(hold * self._rng.choice([0.05, 0.2, 0.5]))
        return wrong

    async def wait_for_records(self, tables: set[str]) -> None:
        try:
            await self._server.start()
            with contextlib.suppress(TimeoutError):  # the verdict lists those that are missing
                async with asyncio.timeout(_SECONDS_FOR_RECORDS):
                    while any(not self.records_of(table) for table in tables):  # noqa: ASYNC110 - a folder has no event
                        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        finally:
            self._server.kill()
            await self._gone()

    async def journal(self) -> dict[str, list[Entry]]:
        return await journal_in(self._data)

    async def ownership(self) -> None:
        return None

    async def close(self) -> None:
        pass

    def records_of(self, table: str) -> list[Path]:
        return list(self._records.glob(f"*-{table}.txt"))

    def complaints(self) -> str:
        lines = self._server.logged()
        if self._was_out_of_disk:
            lines = [line for line in lines if not _SAID_ABOUT_THE_DISK.search(line)]
        if self._admin.asked:
            lines = [line for line in lines if not (SAID_ABOUT_REQUESTS.search(line) or " INFO " in line)]
        return "".join(lines)

    def secrets_logged(self, tokens: set[str]) -> list[str]:
        return self._server.secrets_logged(tokens)

    def count(self) -> dict[str, int]:
        return {} if self._power_cuts is None else {"writes undone by power cuts": self._power_cuts.undone}

    async def _gone(self) -> None:
        """Wait for the end of the killed server; if power cuts are in the plan, this was one."""
        await self._server.gone()
        with contextlib.suppress(FileNotFoundError):
            for code, length in _LENGTH.findall((self._data / LIST_NAME).read_text(encoding="ascii")):
                if int(length) >= ENTRIES_BETWEEN_SHORTENINGS:
                    self.long_tables.add(code)
        if self._power_cuts is not None:
            self._power_cuts.cut()

    async def _fill_disk(self, seconds: float) -> None:
        """Let the journal grow no more for a while: the system refuses to make files larger."""
        import resource  # noqa: PLC0415 - Windows has none

        if not self._server.runs:
            return
        self._was_out_of_disk = True
        files = [path for path in self._data.glob(f"{FILE_NAME}*") if path.is_file()]
        most = max((path.stat().st_size for path in files), default=0) + _LEFT_ON_A_FULL_DISK
        process = self._server.process
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        await asyncio.sleep(seconds)
        if self._server.runs:
            resource.prlimit(
                process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
