"""The verdict on a table: what everybody there saw and was told, compared with its entries."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from protocol.messages import JoinTable, OpenTable, SubstituteNow, Turn
from server.storage.entries import Entry, TookBack
from simulation.judging.clock_model import check_clocks, check_steps
from simulation.judging.entry_rules import check_entries
from simulation.judging.history import History
from simulation.judging.judge import Judge
from simulation.judging.ownership import Ownership
from simulation.judging.protocol_model import (
    check_consent,
    check_granted,
    check_granted_in_time,
    check_hands,
    check_states,
    programs_among,
)
from simulation.judging.seat_model import (
    check_absence,
    check_agreement,
    check_bots_among_themselves,
    check_followed,
    check_host,
    check_plans,
    check_programs,
    check_removals,
    check_returns,
    check_second_hands,
    check_shown_hands,
)
from simulation.judging.wire_checks import (
    answers_to_questions,
    check_answered,
    check_answers,
    check_catching_up,
    check_chat,
    check_codes_of_addresses,
    check_kept_seats,
    check_lobby,
    check_questions,
    check_quiet,
    check_requests,
)
from simulation.people.games import Party
from simulation.people.plan import Crowd
from simulation.verdict import Finding, Outcome, Verdict
from simulation.wiretap import Wiretap


@dataclass(frozen=True, slots=True)
class TablesJudge:
    """Judges the tables of a round, with `journal` their entries, into `outcome`.

    `long_tables` may have been shortened in the journal; `records_of` finds the records that were written.
    """

    plan: Crowd
    journal: dict[str, list[Entry]]
    ownership: Ownership | None
    long_tables: set[str]
    records_of: Callable[[str], list[Path]]
    outcome: Outcome
    grace: float = 60.0  # seconds for which the seat of somebody who is away is safe
    stored: bool = False  # nothing that was to be stored could not be
    # Answers to those who have asked whose turn it is at a table, and when.
    turns: dict[str, list[tuple[float, Turn]]] = field(default_factory=lambda: defaultdict(list))
    visits: list[Wiretap] = field(default_factory=list)  # that have led to no table

    def judge_all(self, parties: Sequence[Party], every_tap: Sequence[Wiretap]) -> None:
        """Judge what was heard on all connections, and the tables where these parties have played."""
        verdict = self.outcome.verdict
        taps: dict[str, list[Wiretap]] = defaultdict(list)
        tokens = {player.token for party in parties for player in party.everybody}
        tokens |= {  # also of those whose tables have ended before their games
            asked.message.token
            for tap in every_tap
            for asked in tap.asked
            if isinstance(asked.message, JoinTable | OpenTable) and asked.message.token is not None
        }
        for tap in every_tap:
            check_questions(tap, tokens, verdict)
            check_catching_up(tap, verdict)
            check_lobby(tap, verdict)
            check_answered(tap, verdict)
            check_codes_of_addresses(tap, verdict)
            for table, time, turn in answers_to_questions(tap):
                self.turns[table].append((time, turn))
            verdict.different += tap.damaged
            for table in tap.tables:
                taps[table].append(tap)
            if not tap.tables:
                self.visits.append(tap)
        for table in sorted(self.journal):
            self._judge_entries(table, taps[table])
        for party in parties:
            self._judge(party, party.tables, taps)

    def _judge_entries(self, table: str, taps: list[Wiretap]) -> None:
        """Judge the entries of a table, whoever plays there; at others than the parties' nobody is tapped."""
        bots_wanted = _bots_wanted(table, taps) if taps else None
        journal = {code: entries for code, entries in self.journal.items() if code not in self.long_tables}
        entries = self.journal[table]
        check_entries(
            table,
            entries,
            self.outcome.verdict,
            whole=table not in self.long_tables,
            bots_wanted=bots_wanted,
            journal=journal,
        )
        self.outcome.counts["entries compared with the model"] += len(entries)

    def _judge(self, party: Party, tables: Sequence[str], taps: dict[str, list[Wiretap]]) -> None:
        """Judge these of the tables where a party has played; `taps` are by tables."""
        if party.ended < len(tables):
            where = _where_it_stands(self.journal.get(party.tables[-1], []), party)
            text = f"the game did not end: {where}"
            self.outcome.verdict.unfinished.append(Finding(text, party.tables[-1]))
        programs = programs_among(tap for table in party.tables for tap in taps[table])  # also of a rematch
        programs |= {
            asked.message.name
            for tap in self.visits  # somebody may have a seat, and not know that
            for asked in tap.asked
            if isinstance(asked.message, JoinTable)
            and asked.message.program
            and asked.message.table in party.tables
        }
        for table in tables:
            if table in self.journal:
                self._judge_table(table, party, self.journal[table], taps[table], programs)
            elif table in self.outcome.gave_way:
                self.outcome.counts["games that gave way after their end"] += 1
            else:
                self.outcome.verdict.lost.append(Finding("no game in the journal", table))

    def _judge_table(
        self, table: str, party: Party, entries: list[Entry], taps: list[Wiretap], programs: set[str]
    ) -> None:
        try:
            judge = Judge(table, entries, shortened=table in self.long_tables)
        except Exception as error:  # noqa: BLE001 - whatever the fold of entries raises that make no sense
            text = f"its entries make no sense: {error!r}"
            self.outcome.verdict.different.append(Finding(text, table))
            return
        if not judge.began:
            self.outcome.verdict.lost.append(Finding("no game in the journal", table))
            return
        self.outcome.counts["moves taken back"] += sum(isinstance(entry, TookBack) for entry in entries)
        certain, archives = taps, self.plan.most_tables < self.plan.games
        if self.ownership is not None:
            whole = table not in self.long_tables
            certain = self.ownership.check(table, entries, taps, self.outcome.verdict, whole=whole)
        first = table == party.tables[0]
        judge.judge(party.everybody, party.spectators if first else ())
        judge.judge_removed(party.former)
        if table in self.long_tables:
            self.outcome.counts["tables too long to compare what was told of them"] += 1
        else:
            judge.history.check_told(certain, judge.verdict)
        check_answers(table, entries, taps, judge.verdict)
        check_requests(table, entries, taps, judge.verdict)
        self.outcome.counts["answers compared with the model"] += check_granted(table, certain, judge.verdict)
        check_states(table, certain, judge.verdict)
        check_hands(table, certain, judge.verdict)
        check_consent(table, taps, programs, judge.verdict)
        check_agreement(table, taps, programs, judge.verdict)
        check_removals(table, certain, self.grace, judge.verdict)
        check_host(table, certain, judge.verdict)
        counts = self.outcome.counts
        if self.stored:
            self._judge_times(table, entries, taps, judge.verdict, certain=certain, programs=programs)
        check_shown_hands(table, certain, judge.verdict)
        counts["moves by plans compared with the model"] += check_plans(
            table, taps, entries, judge.verdict, turns=self.turns[table]
        )
        counts["turns of clocks measured"] += check_clocks(table, certain, judge.verdict, stored=self.stored)
        if self.ownership is None and not archives:
            returns = check_returns(table, taps, [*taps, *self.visits], judge.verdict)
            counts["returns of those who were removed"] += returns
        records = self.records_of(table)
        self.outcome.counts["records compared"] += len(records)
        texts = defaultdict(list)
        for record in records:
            texts[record.parent].append(record.read_text(encoding="utf-8"))
        judge.check_records(list(texts.values()))
        judge.verdict.stolen += [
            stranger
            for player in party.everybody
            for model in player.models
            for stranger in model.strangers
            if stranger.table == table
        ]
        for tap in certain:
            check_programs(table, tap, programs, judge.verdict)
        for tap in taps:
            counts["second hands refused"] += check_second_hands(table, tap, judge.verdict)
            judge.listen(tap, {player.token for player in party.everybody})
        check_quiet(table, taps, judge.verdict)
        check_chat(table, certain, taps, judge.verdict, archives=archives)
        check_kept_seats(table, entries, taps, judge.verdict)
        self.outcome.verdict.add(judge.verdict)

    def _judge_times(
        self,
        table: str,
        entries: list[Entry],
        taps: list[Wiretap],
        verdict: Verdict,
        *,
        certain: list[Wiretap],
        programs: set[str],
    ) -> None:
        """Judge what happens when it is time, where it can be stored then."""
        steps = check_steps(table, certain, verdict)
        self.outcome.counts["clocks compared with the time"] += steps
        check_granted_in_time(table, certain, programs, verdict)
        check_absence(table, certain, programs, _bots_wanted(table, taps), verdict)
        for tap in certain:
            check_followed(table, tap, programs, verdict)
        check_bots_among_themselves(table, taps, entries, programs, verdict)


def _bots_wanted(table: str, taps: Sequence[Wiretap]) -> set[int]:
    """Return the seats for which hosts have asked that a bot play."""
    asked = (each.message for tap in taps for each in tap.asked_at(table))
    return {message.seat for message in asked if isinstance(message, SubstituteNow)}


def _where_it_stands(entries: list[Entry], party: Party) -> str:
    """Return what a game that has not ended may be waiting for."""
    state = History("", entries).state
    turn = None if state.game is None else state.game.view.turn
    vacant = [seat for seat, player in enumerate(state.players) if player is not None and player.vacant]
    bots = sorted(state.bot_seats | state.bots)
    here = ", ".join(f"{player.name} at {player.models[-1].table}" for player in party.players)
    return (
        f"{state.stage}, seats {state.names}, host {state.host}, turn {turn}, paused for {state.paused}, "
        f"vacant {vacant}, bots {bots}, policy {state.absence}, {state.switches}; players: {here}"
    )
