"""Bans that last until they are lifted: of networks and of names, in a file of the data folder."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from protocol.admin import BanKind, BanReport
from protocol.codes import Code
from server.errors import StartError
from server.limits.banned import BannedNetworks, network_to_ban
from server.refusal import Refusal
from server.tables.names import NamesInUse, alike, check_name, looks
from server.tables.private_file import replace_private_file

FILE_NAME: Final = "bans.json"

_Key: TypeAlias = tuple[BanKind, str]


class Bans:
    """The bans of a server, which are those in its file; without a folder they end with the process.

    `networks` has the networks among them. Raises StartError if the file cannot be used: a server without
    its bans would be open to those whom it keeps out.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE_NAME
        self.networks = BannedNetworks()
        self._names = NamesInUse()
        self._bans: dict[_Key, BanReport] = {}
        self._changing = asyncio.Lock()
        if self._file is not None:
            for ban in _read(self._file):
                self._take(ban)

    def __len__(self) -> int:
        return len(self._bans)

    def __iter__(self) -> Iterator[BanReport]:
        return iter(list(self._bans.values()))

    def check_name(self, name: str) -> None:
        """Raise Refusal if the name is not allowed, is banned, or looks like a banned one."""
        check_name(name)
        if self._names.places(looks(name)):
            raise Refusal(Code.NAME_BANNED)

    async def add(self, kind: BanKind, what: str) -> BanReport:
        """Ban a network or a name, and return the ban, which may have been there before.

        Raises ValueError if it is no network, Refusal if it is no name, and OSError if it cannot be stored.
        """
        if kind == "network":
            what = str(network_to_ban(what))
        else:
            check_name(what)
        async with self._changing:
            if (found := self._bans.get((kind, what))) is not None:
                return found
            ban = BanReport(kind, what, int(time.time()))
            await self._store([*self, ban])
            self._take(ban)
        return ban

    async def lift(self, kind: BanKind, what: str) -> bool:
        """Lift the ban of a network, or those of a name and all that look like it; return whether any was.

        Raises ValueError if it is no network, and OSError if the rest cannot be stored.
        """
        if kind == "network":
            what = str(network_to_ban(what))
        async with self._changing:
            lifted = [ban for ban in self if ban.kind == kind and _same(ban, what)]
            if lifted:
                await self._store([ban for ban in self if ban not in lifted])
            for ban in lifted:
                self._drop(ban)
        return bool(lifted)

    async def _store(self, bans: Sequence[BanReport]) -> None:
        if self._file is not None:
            await asyncio.to_thread(replace_private_file, self._file, msgspec.json.encode(bans))

    def _take(self, ban: BanReport) -> None:
        self._bans[ban.kind, ban.what] = ban
        if ban.kind == "network":
            self.networks.add(network_to_ban(ban.what))
        else:
            self._names.put(ban.what, (ban.what,))

    def _drop(self, ban: BanReport) -> None:
        del self._bans[ban.kind, ban.what]
        if ban.kind == "network":
            self.networks.discard(network_to_ban(ban.what))
        else:
            self._names.put(ban.what, ())


def _same(ban: BanReport, what: str) -> bool:
    return ban.what == what if ban.kind == "network" else alike(ban.what, what)


def _read(file: Path) -> list[BanReport]:
    """Return the bans in a file, none if there is no file; raises StartError."""
    try:
        bans = msgspec.json.decode(file.read_bytes(), type=list[BanReport])
        for ban in bans:
            if ban.kind == "network":
                network_to_ban(ban.what)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StartError("cannot read {file}: {reason}", file=file, reason=error.strerror) from error
    except ValueError as error:  # msgspec's errors too
        raise StartError(
            "the bans in {file} cannot be understood. Restore the file from a backup, or remove it "
            "to lift all bans",
            file=file,
        ) from error
    return bans
