"""What a failure looks like: each kind of finding, with all that happened in the seconds before it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from protocol.messages import TableState
from simulation.machine.loop import EPOCH
from simulation.people.plan import games
from simulation.plan import Choice, plan_of
from simulation.trace import MESSAGES, Event
from simulation.verdict import Excerpt, Finding, Outcome, Verdict

_SECONDS: Final = 30.0  # before a finding
_AROUND: Final = 1.0  # ... and before and after what it is compared with
_FIRST, _NEAR, _LAST = 6, 4, 30  # lines that are shown of many: also these next to each that is meant
_WORDS: Final = 600  # letters of a finding ...
_LINE: Final = 240  # ... and of a line
_LONGEST_WORD: Final = 30  # letters
_EXACT: Final = 1e-6  # seconds
_MEANT: Final = "=>"
_MEANS: Final = {*MESSAGES, "log", "error"}  # kinds of events that findings are about


def excerpts(verdict: Verdict, events: Sequence[Event]) -> list[Excerpt]:
    """Return the first finding of each kind with the events before it: the earliest first."""
    found = []
    for kind, findings in verdict.kinds().items():
        if findings:
            first = min(findings, key=_when)
            found.append(Excerpt(kind, len(findings), first, list(_lines(first, events))))
    return sorted(found, key=lambda each: _when(each.finding))


def report(choice: Choice, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that say what has failed."""
    plan = plan_of(choice)
    yield f"seed {choice.seed} {'took too long' if outcome.slow else 'failed'}. Again: {choice.command()}"
    for number, game in games(plan.people).items():
        bots = f"{game.bots} bots of the server, {game.guests} in processes of their own"
        yield f"  game{number}: {game.players} players ({bots}), {type(game.absence).__name__}"
    for fault in plan.faults:
        yield f"  fault{fault.number}: {fault.kind} {fault.moment} ({fault.moves}, {fault.pieces})"
    if outcome.failure:
        yield f"  the simulation itself failed: {outcome.failure}"
    yield from (f"  {line}" for line in outcome.slow.splitlines())
    shown: list[list[str]] = []
    for each in outcome.excerpts:
        yield f"  {each.kind}: {_words(each.finding)}"
        if each.number > 1:
            yield f"    and {each.number - 1} more of this kind"
        lines = each.lines if each.lines not in shown else ["the same as above came before it"]
        yield from (f"    {line}" for line in lines)
        shown.append(each.lines)
    yield "  --trace FILE writes everything, as lines of JSON: jq -c 'select(.table == \"ABCD\")' FILE"


def _when(finding: Finding) -> float:
    return math.inf if finding.at is None else finding.at


def _words(finding: Finding) -> str:
    where = [finding.table] if finding.table else []
    where += [f"{finding.at - EPOCH:.3f} s"] if finding.at is not None else []
    where += [f"connection {finding.connection}"] if finding.connection is not None else []
    return f"{', '.join(where)}: {_cut(finding.text, _WORDS)}"


def _lines(finding: Finding, events: Sequence[Event]) -> Iterator[str]:
    """Yield what happened before a finding, cut in the middle if it is much."""
    concerned = list(_concerned(finding, events))
    if not concerned:
        return
    said = [event for event in concerned if event.kind in MESSAGES] or concerned
    end = said[-1].at if finding.at is None else finding.at - EPOCH
    meant = [end] if finding.since is None else [finding.since - EPOCH, end]
    shown = [
        event
        for event in concerned
        if event.at <= end + _EXACT
        and (event.at >= end - _SECONDS or any(abs(event.at - each) <= _AROUND for each in meant))
    ]
    lines = list(in_words(shown, meant))
    near = {
        number + by
        for number, line in enumerate(lines)
        if line.startswith(_MEANT)
        for by in range(-_NEAR, _NEAR + 1)
    }
    left_out = 0
    for number, line in enumerate(lines):
        if _FIRST <= number < len(lines) - _LAST and number not in near:
            left_out += 1
            continue
        if left_out:
            yield f"... {left_out} lines left out: --trace writes all of them ..."
            left_out = 0
        yield line


def _concerned(finding: Finding, events: Iterable[Event]) -> Iterator[Event]:
    """Yield what a finding may have to do with: everything, unless its table or connection is known."""
    events = list(events)
    table = finding.table
    connections = {finding.connection} | {
        event.connection for event in events if table is not None and table in _tables(event)
    }
    for event in events:
        match event.kind:
            case "fault" | "error":
                yield event
            case "log" if " INFO " not in str(event.what) or (table and table in str(event.what)):
                yield event
            case "client" | "server" | "network":
                elsewhere = event.table not in {table, None} and event.connection != finding.connection
                if connections == {None} or (event.connection in connections and not elsewhere):
                    yield event


def _tables(event: Event) -> set[str | None]:
    """Return the tables that a message is about: where it was sent, and which it names."""
    return {event.table, getattr(event.what, "table", None)} if event.kind in MESSAGES else set()


def in_words(events: Iterable[Event], meant: Sequence[float] = ()) -> Iterator[str]:
    """Yield a line for each event, but one for what several were sent at the same moment.

    What was sent or logged at the moments that are `meant` is marked.
    """
    states: dict[int | None, dict[str, Any]] = {}  # last told of the table, by connections
    said = ((event, _said(event, states)) for event in events)
    for (at, node, kind, words), group in groupby(said, _moment):
        who = ", ".join(_receiver(event) for event, _ in group)
        sign = {"client": "->", "server": "<-"}.get(kind, kind)
        is_meant = kind in _MEANS and any(abs(at - each) <= _EXACT for each in meant)
        mark = _MEANT if is_meant else ""
        yield f"{mark:2} {at:9.3f} {node:7} {who:9} {sign:2} {_cut(words, _LINE)}"


def _moment(said: tuple[Event, str]) -> tuple[float, str, str, str]:
    event, words = said
    return event.at, event.node, event.kind, words


def _receiver(event: Event) -> str:
    who = "" if event.connection is None else f"#{event.connection}"
    return who if event.seat is None else f"{who} seat {event.seat}"


def _said(event: Event, states: dict[int | None, dict[str, Any]]) -> str:
    """Return what an event is in words; of a table's state, only what has changed in it."""
    if isinstance(event.what, str):
        return event.what.rstrip()
    fields = dict(_flat(msgspec.to_builtins(event.what, enc_hook=str)))
    words = [str(fields.pop("t"))]
    if isinstance(event.what, TableState):
        before = states.get(event.connection, {})
        states[event.connection] = fields
        words += [f"no {name}" for name in before if name not in fields]
        fields = {name: value for name, value in fields.items() if before.get(name) != value}
    return " ".join(words + [f"{name}={_short(value)}" for name, value in fields.items()])


def _short(value: object) -> str:
    """Return a value of a message; of tokens, hashes and the like only the beginning."""
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    secret = isinstance(value, str) and len(value) > _LONGEST_WORD and " " not in value
    return f"{str(value)[:6]}..." if secret else repr(value)


def _flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a message, and those of what it contains, each with its path."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
            yield from _flat(dict(enumerate(value)), f"{prefix}{name}.")  # type: ignore[arg-type]
        else:
            yield f"{prefix}{name}", value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 20]} ... {len(text) - most + 20:,} letters"
