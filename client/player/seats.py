"""The seats of this computer's user, kept in files so that a closed terminal gets its seat back.

A seat is a file that only its user can read, written when it is taken and when its game begins. The client
that sits in the seat holds a lock on the file, which the system releases when the process ends, however it
ends. Whatever looks at several files, or writes or removes one, has the folder to itself: clients started
side by side lose nothing and share no seat.
"""

import contextlib
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from msgspec import DecodeError, Struct, json
from msgspec import field as kept_field
from msgspec.structs import replace
from platformdirs import user_state_path

from client.tables.draws import Call
from client.typed_text import same_server, server_url
from protocol.limits import ADDRESS_LENGTH, ADDRESSES_TOLD
from protocol.messages import Name, SeatNumber, TableCode, Token, hiding_secrets
from protocol.text import printable

_KEPT_SECONDS: Final = 100 * 24 * 3600.0  # more than a move of a correspondence game may take
EVENING: Final = "EVENING"  # in place of a table's code: the token of an evening; no table's has vowels
_LARGEST_FILE: Final = 4096  # bytes; a seat takes about 700, and less than this with all addresses
_MOST_ADDRESSES: Final = ADDRESSES_TOLD + 3

if sys.platform == "win32":
    import msvcrt

    def lock_file(file: int, *, wait: bool) -> None:
        os.lseek(file, _LARGEST_FILE, os.SEEK_SET)  # what is locked cannot be read there
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock_file(file: int, *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


class _Kept(Struct, frozen=True):
    """The content of a file; its modification time is when the seat was last taken."""

    format: Literal[1]
    server: str
    table: TableCode
    seat: SeatNumber
    name: Name
    token: Token
    cluster: list[str] = kept_field(default_factory=list, name="house")  # addresses that know it
    call: Call | None = None
    asked: bool = False  # for the seat, and not yet answered

    def __repr__(self) -> str:
        return hiding_secrets(self)


class KeptSeat(NamedTuple):
    """Where a seat is kept, and under which name; `proof` is the hash of its token."""

    server: str
    table: str
    name: str
    proof: str = ""


@dataclass(eq=False, slots=True)
class HeldSeat:
    """A seat that no other process on this computer may take until it is released or forgotten.

    It is `asked` for until it is known whether the server has given it.
    """

    table: str
    name: str
    token: str = field(repr=False)
    path: Path
    call: Call | None = field(repr=False)  # in which the player has shown a share of the game's draws
    asked: bool
    _file: int | None

    def hold(self) -> None:
        """Lock the seat against other processes; raises OSError."""
        self._file = os.open(self.path, os.O_RDWR)
        lock_file(self._file, wait=False)

    def release(self) -> None:
        """Leave the seat, which stays kept for the next client."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def proof_of(token: str) -> str:
    """Return what shows a server that its asker has the seat, and gives nobody the seat."""
    return hashlib.sha256(token.encode()).hexdigest()


def seats_folder() -> Path:
    return user_state_path("palatinus", appauthor=False) / "seats"


def kept_seats(folder: Path) -> tuple[KeptSeat, ...]:
    """Return the seats that are kept at all servers, the one taken last first; damaged files are left out."""
    found = []
    with contextlib.suppress(OSError):
        for path in folder.glob("*.json"):
            with contextlib.suppress(OSError, DecodeError, ValueError):
                kept = json.decode(path.read_bytes()[:_LARGEST_FILE], type=_Kept)
                if (age := _age(path)) <= _KEPT_SECONDS and kept.table != EVENING:
                    seat = server_url(kept.server), kept.table, printable(kept.name)
                    found.append((age, KeptSeat(*seat, proof_of(kept.token))))
    return tuple(seat for _age_of, seat in sorted(found))


class Seats:
    """The seats held at one server, or at another of the same cluster.

    With `new`, they are only those that were kept through this object. Every method raises OSError if the
    folder cannot be used. `damaged` are the files that could not be read the last time; they are left alone
    until they are as old as a seat may get.
    """

    def __init__(self, folder: Path, server: str, *, new: bool = False) -> None:
        self.damaged: tuple[Path, ...] = ()
        self._folder = folder
        self._server = same_server(server)
        self._new = new
        self._own: set[Path] = set()

    def tables(self) -> frozenset[str]:
        """Return the codes of the tables with a seat that no running client on this computer sits in."""
        return frozenset(held.table for held in self._kept()) - {EVENING}

    def tokens(self, name: str, most: int) -> tuple[str, ...]:
        """Return the tokens of as many seats under `name` as no running client here sits in, latest first."""
        own = [held for held in self._kept() if held.name == name]
        return tuple(held.token for held in sorted(own, key=lambda held: _age(held.path)))[:most]

    def take(self, table: str, name: str) -> HeldSeat | None:
        """Return a free seat held at `table`, or None: preferably under `name`, then the one used last."""
        found = self._free()
        there = [held for held in found if held.table == table]
        wanted = max(there, key=lambda held: (held.name == name, -_age(held.path)), default=None)
        for held in found:
            if held is not wanted:
                held.release()
        if wanted is not None:
            os.utime(wanted.path)
        return wanted

    def keep(
        self,
        table: str,
        seat: int,
        name: str,
        token: str,
        cluster: Sequence[str] = (),
        *,
        asked: bool = False,
    ) -> HeldSeat:
        """Keep a seat that this process sits in, or has `asked` for with this token.

        `cluster` are the addresses at which it is known.
        """
        usable = []  # the addresses that can be compared with others: a server may have told anything
        for each in cluster[:_MOST_ADDRESSES]:
            if len(each) <= ADDRESS_LENGTH:
                with contextlib.suppress(ValueError):
                    usable.append(same_server(each))
        kept = _Kept(1, self._server, table, seat, name, token, usable, asked=asked)
        path = self._folder / f"{secrets.token_hex(8)}.json"
        held = HeldSeat(table, name, token, path, None, asked, None)
        with self._alone():
            self._write(held, kept)
        self._own.add(held.path)
        return held

    def keep_asked(self, held: HeldSeat, seat: int) -> None:
        """Record that a seat that was asked for has been given."""
        self._change(held, seat=seat, asked=False)
        held.asked = False

    def keep_call(self, held: HeldSeat, call: Call) -> None:
        """Keep with a held seat the share that its player has shown, and what was settled by then."""
        self._change(held, call=call)
        held.call = call

    def _change(self, held: HeldSeat, **changes: object) -> None:
        with self._alone():
            kept = json.decode(held.path.read_bytes(), type=_Kept)
            self._write(held, replace(kept, **changes))

    def _write(self, held: HeldSeat, kept: _Kept) -> None:
        draft = write_draft(held.path, kept)
        held.release()  # first: Windows replaces no open file
        try:
            draft.replace(held.path)
        finally:
            held.hold()

    def forget(self, held: HeldSeat) -> None:
        with self._alone():
            held.release()  # first: Windows removes no open file
            held.path.unlink(missing_ok=True)

    def _kept(self) -> list[HeldSeat]:
        """Return the seats at this server that no client sits in, released again."""
        found = self._free()
        for held in found:
            held.release()
        return found

    def _free(self) -> list[HeldSeat]:
        """Return the seats at this server that no client sits in, now held; remove those that are too old."""
        if not self._folder.exists():
            return []
        found, damaged = [], []
        with self._alone():
            for draft in self._folder.glob("*.new"):
                draft.unlink()  # nobody else is here to finish it
            for path in sorted(self._folder.glob("*.json")):
                try:
                    held = self._open_seat(path)
                except (OSError, DecodeError, ValueError):  # ValueError: its server's address is not one
                    damaged.append(path)
                else:
                    found += [] if held is None else [held]
        self.damaged = tuple(damaged)
        return found

    def _open_seat(self, path: Path) -> HeldSeat | None:
        """Return the seat in a file, now held; None if it is in use, another server's, or too old."""
        with contextlib.ExitStack() as closing:
            file = os.open(path, os.O_RDWR)
            closing.callback(os.close, file)
            content = os.read(file, _LARGEST_FILE)
            try:
                lock_file(file, wait=False)
            except (BlockingIOError, PermissionError):
                return None
            if _age(path) > _KEPT_SECONDS:
                closing.close()  # first: Windows removes no open file
                path.unlink()
                return None
            kept = json.decode(content, type=_Kept)
            known_at = (same_server(kept.server), *kept.cluster)
            if self._server not in known_at or (self._new and path not in self._own):
                return None
            closing.pop_all()
        return HeldSeat(kept.table, printable(kept.name), kept.token, path, kept.call, kept.asked, file)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the folder, and make it if necessary, readable only by its user."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._folder.stat().st_mode & 0o077:
            self._folder.chmod(0o700)
        with open(self._folder / "lock", "wb", opener=_private) as lock:
            lock_file(lock.fileno(), wait=True)
            yield


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def write_draft(path: Path, kept: Struct) -> Path:
    """Write what replaces the file at `path` beside it, readable by its user alone."""
    draft = path.with_suffix(".new")
    with open(draft, "wb", opener=_private) as file:
        file.write(json.encode(kept))
        file.flush()
        os.fsync(file.fileno())
    return draft


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
