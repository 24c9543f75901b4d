"""How often connections and addresses may do within a minute what others pay for."""

from collections.abc import Callable
from typing import Final, TypeAlias

from protocol.codes import Code
from protocol.messages import NoticeKind
from server.config import Limits
from server.limits.networks import Networks
from server.limits.rate_limits import Key, PerMinuteLimit
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal

_HOUR: Final = 3600.0
_LOBBY: Final = "the lobby"  # what everybody in it shares; no table is called so


_Use: TypeAlias = tuple[PerMinuteLimit, Key] | tuple[PerMinuteLimit, Key, Networks]


class Rates:
    """The limits per minute shared by all tables of a server and its lobby.

    An excess raises Refusal and is not counted.
    """

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._now = now
        self._openings = _limits(limits.tables_per_connection, limits.tables_per_address)
        self._wrong_codes = PerMinuteLimit(limits.wrong_codes_per_address)
        self._said_at_table = PerMinuteLimit(limits.chat_per_table)
        self._said_at_tables = PerMinuteLimit(limits.chat_per_address)
        self._said_in_lobby = PerMinuteLimit(limits.chat_in_lobby)
        self._said = _limits(limits.chat_in_lobby_per_connection, limits.chat_in_lobby_per_address)
        self._codes = PerMinuteLimit(limits.notice_codes, _HOUR)
        self._codes_from = PerMinuteLimit(limits.notice_codes_per_address, _HOUR)
        self._codes_to = PerMinuteLimit(limits.notice_codes_per_receiver, _HOUR)
        self._named = _limits(limits.lobby_names_per_connection, limits.lobby_names_per_address)

    def check_opening(self, session: Session) -> None:
        """Raise Refusal if the session would be refused to open a table now."""
        self._check(Code.TOO_SOON, *_uses(self._openings, session))

    def count_opening(self, session: Session) -> None:
        self._count(Code.TOO_SOON, *_uses(self._openings, session))

    def check_codes(self, address: Networks) -> None:
        """Raise Refusal if this address (or its network) recently sent too many wrong codes."""
        if (wait := self._wrong_codes.wait(address, self._now())) > 0:
            probe("too many wrong codes have come from an address")
            raise Refusal(Code.TOO_MANY_GUESSES, seconds=wait)

    def count_wrong_code(self, address: Networks) -> None:
        """Count a wrong table code, from a message or a page, against its address."""
        self._count(Code.TOO_MANY_GUESSES, (self._wrong_codes, address))

    def count_remark(self, session: Session, table: str) -> None:
        """Count a chat message from the session at a table.

        Spectators have their own share: they cannot silence the players, nor can one address silence all.
        """
        share = f"{table} {'players' if session.seat is not None else 'spectators'}"
        uses = (self._said_at_tables, session.address), (self._said_at_table, share, session.address)
        self._count(Code.TOO_MUCH_CHAT, *uses)

    def count_remark_in_lobby(self, session: Session) -> None:
        shared = self._said_in_lobby, _LOBBY, session.address
        self._count(Code.TOO_MUCH_CHAT, *_uses(self._said, session), shared)

    def count_name(self, session: Session) -> None:
        self._count(Code.TOO_MUCH_CHAT, *_uses(self._named, session))

    def count_code_sent(self, session: Session, kind: NoticeKind, receiver: str) -> None:
        """Count a code sent for this session to an address that may not belong to its player.

        A mailbox belongs to one person, so its limit holds whoever asks. A host may receive for many players,
        so one address cannot use up its limit for the others.
        """
        to: _Use = (self._codes_to, receiver)
        if kind == "url":
            to = self._codes_to, receiver, session.address
        self._count(
            Code.TOO_MANY_CODES,
            (self._codes, _LOBBY, session.address),
            (self._codes_from, session.address),
            to,
        )

    def _check(self, code: Code, *uses: _Use) -> float:
        """Return the time, if all of this may be done now; raises Refusal otherwise."""
        now = self._now()
        if (wait := max(limit.wait(key, now, *sharer) for limit, key, *sharer in uses)) > 0:
            probe("somebody does something too often")
            raise Refusal(code, seconds=wait)
        return now

    def _count(self, code: Code, *uses: _Use) -> None:
        now = self._check(code, *uses)
        for limit, key, *sharer in uses:
            limit.count(key, now, *sharer)


def _limits(per_connection: int, per_address: int) -> tuple[PerMinuteLimit, PerMinuteLimit]:
    return PerMinuteLimit(per_connection), PerMinuteLimit(per_address)


def _uses(
    limits: tuple[PerMinuteLimit, PerMinuteLimit], session: Session
) -> list[tuple[PerMinuteLimit, Key]]:
    return [(limits[0], session.id), (limits[1], session.address)]
