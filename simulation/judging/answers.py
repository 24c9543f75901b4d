"""What movers were told of their moves, compared with what the journal holds, by the moves' own ids."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from protocol.messages import Done, Lay, PlacePiece, Refused
from server.storage.entries import Entry, Played
from simulation.people.visitors import WITHOUT_A_SEAT
from simulation.verdict import Verdict
from simulation.wiretap import Wiretap

_SentMove: TypeAlias = tuple[int, Lay | PlacePiece]  # by a seat


def check_answers(table: str, entries: Sequence[Entry], taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """Every move that is stored was sent by its seat, and is stored once; nobody was told otherwise.

    A move that is sent again over another connection may have been refused on the one before, where nobody
    hears it any more.
    """
    stored: Counter[_SentMove] = Counter(
        (entry.seat, entry.move)
        for entry in entries
        if isinstance(entry, Played) and isinstance(entry.move, Lay | PlacePiece) and not entry.planned
    )
    last_sent: dict[_SentMove, tuple[float, int]] = {}  # when, and on which connection
    asked_by: list[dict[int, _SentMove]] = []  # by the ids, on each connection
    for number, tap in enumerate(taps):
        asked_by.append({})
        for asked in tap.asked:
            message = asked.message
            if isinstance(message, Lay | PlacePiece) and asked.table == table and asked.seat is not None:
                sent = asked_by[-1][message.id] = asked.seat, message
                last_sent[sent] = max(last_sent.get(sent, (0.0, 0)), (asked.time, number))
    for number, (tap, moves) in enumerate(zip(taps, asked_by, strict=True)):
        for heard in tap.heard:
            match heard.message:
                case Done(id) if id in moves and moves[id] not in stored:
                    verdict.lost.append(f"{table}: {_told(moves[id])} was made, and it was not")
                case Refused(code, id=int(id)) if code not in WITHOUT_A_SEAT and moves.get(id) in stored:
                    if last_sent[moves[id]][1] == number:
                        verdict.invented.append(
                            f"{table}: {_told(moves[id])} was refused ({code}), and it was made"
                        )
    for move, times in stored.items():
        if times > 1:
            verdict.doubled.append(f"{table}: seat {move[0]} made {move[1]} {times} times")
        if move not in last_sent:
            verdict.invented.append(f"{table}: seat {move[0]} never sent {move[1]}")


def _told(move: _SentMove) -> str:
    return f"seat {move[0]} was told that {move[1]}"
