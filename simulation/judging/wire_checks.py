"""What the traffic itself must obey: catching up, chat, the lobby, kept seats, and what came of requests."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from engine.pieces import Seat
from protocol.messages import (
    Ask,
    AskPause,
    AskTurn,
    CallMe,
    ClientMessage,
    ConfirmCall,
    Done,
    Events,
    Lay,
    Online,
    PlacePiece,
    Plan,
    Record,
    Refused,
    Remove,
    Reseated,
    Resume,
    Said,
    SaidBefore,
    SaidInLobby,
    Say,
    Seated,
    Snapshot,
    Sync,
    TableState,
    TakeHoliday,
    Turn,
    Vote,
    Watch,
    Watching,
    moves_planned,
)
from server.storage.entries import (
    Answered,
    BotSeated,
    Entry,
    Freed,
    Kept,
    OnHoliday,
    Paused,
    PlanMade,
    Played,
    Taken,
    TookBack,
    Voted,
    Wished,
)
from simulation.people.visitors import WITHOUT_A_SEAT
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_SentMove: TypeAlias = tuple[int, Lay | PlacePiece]  # by a seat
_Effect: TypeAlias = tuple[object, ...]  # of a request
_GUESSES: Final = 5  # at a code
_LONG_ENOUGH: Final = 60.0  # seconds for an answer
_AT_A_TABLE: Final = TableState | Events | Snapshot | Said | SaidBefore | Reseated | Record


def check_catching_up(tap: Wiretap, verdict: Verdict) -> None:
    """A client that returns is sent what it lacks, no more and no less, and from then on each event once."""
    wanted = {
        asked.message.id: asked.message.after
        for asked in tap.asked
        if isinstance(asked.message, Resume | Watch | Sync)
    }
    syncs: set[int] = set()
    after: int | None = None  # what the client says it has, until it has been sent the rest
    at = 0  # the last event that was sent, or that the client had
    asked_at = defaultdict(list)
    for asked in tap.asked:
        if isinstance(asked.message, Sync):
            asked_at[asked.at].append(asked.message.id)
    for number, heard in enumerate(tap.heard):
        syncs.update(asked_at[number])
        who = "a spectator" if heard.seat is None else f"seat {heard.seat}"
        match heard.message:
            case Seated(id) | Watching(id):
                after, at = wanted.get(id, 0), 0
            case Done(id) | Refused(id=id) if id in syncs:
                syncs.discard(id)
            case Events(seq, events):
                if after:
                    at = after
                expected = {at + 1} | {wanted[sync] + 1 for sync in syncs}
                if seq not in expected:
                    kind = verdict.lost if seq > min(expected) else verdict.needless
                    kind.append(tap.finding(f"{who} was sent event {seq} when it had {at}", heard))
                after, at = None, seq + len(events) - 1
            case Snapshot(seq, missed=[_, *_] as missed) if seq - len(missed) == (after or at):
                after, at = None, seq  # a move was taken back
            case Snapshot(seq):
                if not (after == 0 or any(wanted[sync] == 0 for sync in syncs)):
                    text = f"{who} was sent everything when it had {after or at} events"
                    verdict.needless.append(tap.finding(text, heard))
                after, at = None, seq


def check_questions(tap: Wiretap, tokens: Iterable[str], verdict: Verdict) -> None:
    """Nobody is told whose turn it is who does not know the token of a seat."""
    proofs = {hashlib.sha256(token.encode()).hexdigest() for token in tokens}
    wrong = {
        asked.message.id
        for asked in tap.asked
        if isinstance(asked.message, AskTurn) and asked.message.proof not in proofs
    }
    for heard in tap.heard:
        if isinstance(heard.message, Turn) and heard.message.id in wrong:
            verdict.leaked.append(tap.finding("somebody without a token was told whose turn it is", heard))


def check_answered(tap: Wiretap, verdict: Verdict) -> None:
    """Every request is answered, if the connection lasts for long enough."""
    answered = {getattr(heard.message, "id", None) for heard in tap.heard}
    until = tap.heard[-1].time - _LONG_ENOUGH if tap.heard else 0.0
    for asked in tap.asked:
        number = getattr(asked.message, "id", None)
        if number is not None and number not in answered and asked.time < until:
            verdict.lost.append(tap.finding(f"{asked.message} was never answered", asked))


def answers_to_questions(tap: Wiretap) -> Iterable[tuple[str, float, Turn]]:
    """Yield what somebody was told who has asked whose turn it is: at which table, and when."""
    tables = {
        asked.message.id: asked.message.table for asked in tap.asked if isinstance(asked.message, AskTurn)
    }
    for heard in tap.heard:
        if isinstance(heard.message, Turn) and heard.message.id in tables:
            yield tables[heard.message.id], heard.time, heard.message


def check_lobby(tap: Wiretap, verdict: Verdict) -> None:
    """A client that is at no table, or not any more, is told nothing of any."""
    for heard in tap.heard:
        if heard.table is None and isinstance(heard.message, _AT_A_TABLE):
            text = f"the server sent {heard.message} to a client that is at no table"
            verdict.leaked.append(tap.finding(text, heard))


def check_online(tap: Wiretap, private: Container[str], verdict: Verdict) -> None:
    """Nobody is told who is at a table that has always been private, what is said there, nor invited."""
    for heard in tap.heard:
        if isinstance(heard.message, SaidInLobby):
            verdict.leaked += [
                tap.finding(f"everybody was told what {each.name} said of a table", heard)
                for each in heard.message.remarks
                if each.table in private or each.said_at in private
            ]
        if isinstance(heard.message, Online):
            verdict.leaked += [
                tap.finding(f"everybody was told where {each.name} is", heard)
                for each in heard.message.people
                if each.table in private
            ]


def check_codes_of_addresses(tap: Wiretap, verdict: Verdict) -> None:
    """A code that was sent to an address is void after five wrong ones."""
    asked = {
        each.message.id: each.message for each in tap.asked if isinstance(each.message, CallMe | ConfirmCall)
    }
    wrong = 0
    for heard in tap.heard:
        match heard.message:
            case Done(number) if isinstance(asked.get(number), CallMe):
                wrong = 0
            case Refused("wrong-code"):
                wrong += 1
            case Done(number) if isinstance(asked.get(number), ConfirmCall) and wrong >= _GUESSES:
                verdict.invented.append(tap.finding("a code was taken after five wrong ones", heard))
        if wrong > _GUESSES:
            verdict.invented.append(tap.finding(f"a code could be guessed {wrong} times", heard))
            return


def check_quiet(table: str, taps: Iterable[Wiretap], verdict: Verdict) -> None:
    """While a game runs at a quiet table, no player is sent what spectators say, then or later."""
    secret = {number for tap in taps for number in _said_among_spectators(table, tap)}
    for tap in taps:
        quiet = False
        for heard in tap.heard:
            if heard.table != table:
                continue
            told: Iterable[str] = ()
            match heard.message:
                case TableState():
                    quiet = _is_quiet(heard.message)
                case Said(text, spectator=int()) if quiet:
                    told = [text]
                case SaidBefore(remarks):
                    told = [each.text for each in remarks if each.number in secret]
            if heard.seat is not None:
                verdict.leaked += [
                    tap.finding(f"seat {heard.seat} was sent {text!r} of a spectator", heard) for text in told
                ]


def _said_among_spectators(table: str, tap: Wiretap) -> Iterable[int | None]:
    """Yield the numbers of what spectators said while players were surely not to hear it."""
    quiet, since = False, list[int | None]()
    for heard in tap.heard:
        match heard.message:
            case TableState() if heard.table == table:
                was, quiet = quiet, _is_quiet(heard.message)
                if was and quiet:
                    yield from since
                since.clear()
            case Said(spectator=int(), number=number) if heard.table == table:
                since.append(number)


def _is_quiet(state: TableState) -> bool:
    return state.switches.quiet and state.stage == "playing"


@dataclass(slots=True)
class _Hearing:
    """A connection at a table: where its game stood when it came and when it left, and what it heard.

    `said` is by the text: each time it came, after which event.
    """

    tap: Wiretap
    seat: Seat | None
    life: int
    came: int | None = None  # with the first news
    left: int = 0
    said: defaultdict[str, list[tuple[int, Heard]]] = field(default_factory=lambda: defaultdict(list))
    quiet: set[str] = field(default_factory=set)  # of these, what only spectators were to hear

    def stands_at(self, event: int) -> None:
        """Take note of the last event."""
        self.left = event
        self.came = event if self.came is None else self.came


def check_chat(
    table: str, certain: Sequence[Wiretap], taps: Sequence[Wiretap], verdict: Verdict, *, archives: bool
) -> None:
    """What is said at a table reaches everybody there once, and in the same order.

    Only what is `certain` is judged; any of the `taps` may have brought a message that was then sent again.

    Answers to spectators are not remembered: what one of them sends again is said again. So is what a player
    sends again if the table was archived meanwhile, as it may be where the server `archives`.
    """
    repeatable = Counter(
        asked.message.text
        for tap in taps
        if archives or any(heard.table == table and heard.seat is None for heard in tap.heard)
        for asked in tap.asked
        if isinstance(asked.message, Say)
    )
    hearings = [hearing for tap in certain for hearing in _hearings(table, tap)]
    quiet = {text for hearing in hearings for text in hearing.quiet}
    received: defaultdict[tuple[int, str, int, str], list[tuple[Heard, Wiretap]]] = defaultdict(list)
    moments: defaultdict[tuple[int, str], list[tuple[int, Heard, Wiretap]]] = defaultdict(list)
    for number, hearing in enumerate(hearings):
        for text, times in hearing.said.items():
            moments[hearing.life, text] += [(event, heard, hearing.tap) for event, heard in times]
            # A player may come back on another connection; of a spectator nobody knows that.
            who, which = ("a spectator", number) if hearing.seat is None else (f"seat {hearing.seat}", 0)
            received[hearing.life, who, which, text] += [(heard, hearing.tap) for _, heard in times]
    for (_, who, _, text), copies in received.items():
        if len(copies) > max(1, repeatable[text]):
            heard, tap = max(copies, key=lambda copy: copy[0].time)
            since = min(each.time for each, _ in copies)
            what = f"{who} was sent {text!r} {len(copies)} times"
            verdict.doubled.append(tap.finding(what, heard, since))
    for (life, text), said in moments.items():
        after = {event for event, _, _ in said}
        _, first, _ = min(said, key=lambda each: each[1].time)
        if len(after) > max(1, repeatable[text]):
            _, heard, tap = max(said, key=lambda each: each[1].time)
            what = f"{text!r} came after event {sorted(after)}"
            verdict.different.append(tap.finding(what, heard, since=first.time))
        at = min(after)
        for hearing in hearings:
            if hearing.seat is not None and text in quiet:
                continue
            came = hearing.left if hearing.came is None else hearing.came
            if hearing.life == life and came < at < hearing.left and text not in hearing.said:
                what = f"{hearing.seat} was not sent {text!r}"
                verdict.lost.append(Finding(what, table, first.time, hearing.tap.number))
    for tap in certain:
        _check_remarks(table, tap, taps, verdict)


def _check_remarks(table: str, tap: Wiretap, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """Nobody is told that a message was said before it was: but for a repeated answer."""
    for asked in tap.asked:
        if not isinstance(asked.message, Say):
            continue
        message = asked.message
        others = (each for other in taps if other is not tap for each in other.asked)
        if any(each.message == message for each in others):
            continue  # it was sent again, so it may have been said before
        for heard in tap.heard[asked.at :]:
            if heard.table != table:
                continue
            if isinstance(heard.message, Said) and heard.message.text == message.text:
                break
            if isinstance(heard.message, Done) and heard.message.id == message.id:
                what = f"{message.text!r} was done and never said"
                verdict.lost.append(tap.finding(what, heard, since=asked.time))
                break


def _hearings(table: str, tap: Wiretap) -> list[_Hearing]:
    found: list[_Hearing] = []
    here: _Hearing | None = None
    is_quiet = False
    since_state: list[str] = []  # by spectators: a change takes effect before its state is sent
    for heard in tap.heard:
        if heard.table != table:
            here = None
            continue
        match heard.message:
            case Seated() | Watching():
                found.append(here := _Hearing(tap, heard.seat, tap.life_at(table)))
                is_quiet = False
            case Reseated() if here is not None:
                found.append(here := _Hearing(tap, heard.seat, here.life, here.left, here.left))
            case Events(seq, events) if here is not None:
                here.stands_at(seq + len(events) - 1)
            case Snapshot(seq) if here is not None:
                here.stands_at(seq)
            case TableState():
                is_quiet = _is_quiet(heard.message)
                if is_quiet and here is not None:
                    here.quiet.update(since_state)
                since_state.clear()
            case Said(text, spectator=number) if here is not None:
                here.said[text].append((here.left, heard))
                if number is not None:
                    since_state.append(text)
                    if is_quiet:
                        here.quiet.add(text)
    return found


def check_kept_seats(table: str, entries: Sequence[Entry], taps: Iterable[Wiretap], verdict: Verdict) -> None:
    """A seat that is kept for a rematch has its player's name in everything that is told of the table."""
    freed = {entry.seat for entry in entries if isinstance(entry, Freed)}
    kept = {entry.seat for entry in entries if isinstance(entry, Kept)} - freed
    for tap in taps:
        for heard in tap.heard:
            message = heard.message
            if isinstance(message, TableState) and message.table == table:
                for seat in kept:
                    if seat >= len(message.seats) or message.seats[seat].name is None:
                        verdict.lost.append(tap.finding(f"it was forgotten that seat {seat} is kept", heard))
                        return


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
    sendings: defaultdict[_SentMove, list[tuple[float, Wiretap]]] = defaultdict(list)
    asked_by: list[dict[int, _SentMove]] = []  # by the ids, on each connection
    for tap in taps:
        asked_by.append({})
        for asked in tap.asked:
            message = asked.message
            if isinstance(message, Lay | PlacePiece) and asked.table == table and asked.seat is not None:
                sent = asked_by[-1][message.id] = asked.seat, message
                sendings[sent].append((asked.time, tap))
    last_sent = {move: max(reversed(sent), key=lambda each: each[0]) for move, sent in sendings.items()}
    for tap, moves in zip(taps, asked_by, strict=True):
        for heard in tap.heard:
            match heard.message:
                case Done(id) if id in moves and moves[id] not in stored:
                    text = f"{_describe(moves[id])} was made, and it was not"
                    verdict.lost.append(tap.finding(text, heard))
                case Refused(code, id=int(id)) if code not in WITHOUT_A_SEAT and moves.get(id) in stored:
                    if last_sent[moves[id]][1] is tap:
                        text = f"{_describe(moves[id])} was refused ({code}), and it was made"
                        verdict.invented.append(tap.finding(text, heard))
    for move, times in stored.items():
        if times > 1:
            text = f"seat {move[0]} made {move[1]} {times} times"
            verdict.doubled.append(_finding_about(text, table, sendings[move]))
        if move not in last_sent:
            verdict.invented.append(Finding(f"seat {move[0]} never sent {move[1]}", table))


def check_requests(table: str, entries: Sequence[Entry], taps: Iterable[Wiretap], verdict: Verdict) -> None:
    """Every request is carried out once, however often it is sent: over other connections, to other servers.

    What came of requests is counted, whatever ids are stored with it; and no id is stored twice.
    """
    effects = Counter(effect for entry in entries if (effect := _effect(entry)) is not None)
    sent: defaultdict[tuple[Seat | None, ClientMessage], list[tuple[float, Wiretap]]] = defaultdict(list)
    for tap in taps:
        for asked in tap.asked_at(table):
            sent[asked.seat, asked.message].append((asked.time, tap))
    asked_for: defaultdict[_Effect | None, list[list[tuple[float, Wiretap]]]] = defaultdict(list)
    for (sender, message), sendings in sent.items():
        asked_for[_effect_asked_for(sender, message)].append(sendings)
    for effect, times in effects.items():
        if times > len(asked_for[effect]):
            text = f"{effect} {times} times, asked for {len(asked_for[effect])} times"
            verdict.doubled.append(_finding_about(text, table, chain.from_iterable(asked_for[effect])))
    done = defaultdict[int, set[int]](set)
    for entry in entries:
        match entry:
            case Taken(seat) | Kept(seat) | Freed(seat) | BotSeated(seat):
                done[seat].clear()
            case Answered(seat, requests):
                for number, _ in requests:
                    if number in done[seat]:
                        about = chain.from_iterable(
                            sendings
                            for (sender, message), sendings in sent.items()
                            if sender == seat and getattr(message, "id", None) == number
                        )
                        text = f"request {number} of seat {seat} was carried out again"
                        verdict.doubled.append(_finding_about(text, table, about))
                    done[seat].add(number)


def _finding_about(text: str, table: str, sendings: Iterable[tuple[float, Wiretap]]) -> Finding:
    """Return a finding about what was sent at these times on these connections, if it was at all."""
    in_order = sorted(sendings, key=lambda each: each[0])
    if not in_order:
        return Finding(text, table)
    (since, _), (at, tap) = in_order[0], in_order[-1]
    return Finding(text, table, at, tap.number, since)


def _effect(entry: Entry) -> _Effect | None:
    """Return what somebody has asked for; None if an entry may have another cause than a request."""
    match entry:
        case TookBack(seat):
            return "take-back", seat
        case Paused(seat):
            return "pause", seat
        case Wished(asked) if asked is not None and asked.granted:
            return asked.what, asked.seats[0]
        case OnHoliday(seat, _, True):
            return "holiday", seat
        case PlanMade(seat, piece, field, plans) if moves := moves_planned(piece, field, plans):
            return "plan", seat, moves
        case Voted(seat, by, agree):
            return "vote", by, seat, agree
        case Taken(seat, vacant=True):
            return "removal", seat
        case _:
            return None


def _effect_asked_for(seat: Seat | None, message: ClientMessage) -> _Effect | None:
    match message:
        case Ask(_, what, True):
            return what, seat
        case AskPause(_, True):
            return "pause", seat
        case TakeHoliday(_, True):
            return "holiday", seat
        case Plan() if message.moves:
            return "plan", seat, message.moves
        case Vote(_, other, agree):
            return "vote", seat, other, agree
        case Remove(_, other):
            return "removal", other
        case _:
            return None


def _describe(move: _SentMove) -> str:
    return f"seat {move[0]} was told that {move[1]}"
