"""What everybody may know about a table: its summary in the list, and its seats."""

from engine.pieces import Seat
from protocol.messages import SeatSummary, TableState, TableSummary
from server.tables.absence.policy import AbsencePolicy
from server.tables.audience import Audience
from server.tables.state.persistent_state import PersistentState


def table_summary(code: str, state: PersistentState, *, deserted: bool) -> TableSummary:
    """Return this table's entry in the list of tables; it may be `deserted`."""
    player = None if state.host is None else state.players[state.host]
    return TableSummary(
        code,
        "" if player is None else player.name,
        len(state.players),
        sum(player is not None and not player.vacant for player in state.players),
        state.stage,
        state.options.random_layout,
        state.absence,
        state.title,
        state.no_spectators,
        sum(player is not None and player.vacant for player in state.players)
        if state.stage == "playing"
        else 0,
        len(state.bots),
        state.hints,
        deserted,
    )


def table_state(
    code: str, state: PersistentState, audience: Audience, policy: AbsencePolicy | None = None
) -> TableState:
    """Return who sits where and who is here, with what the policy adds for absent players."""
    seats = []
    peoples = state.peoples if state.stage == "gathering" else [None] * len(state.players)
    for number, player in enumerate(state.players):
        seat = Seat(number)
        if player is None:
            seats.append(SeatSummary(people=peoples[seat]))
            continue
        summary = SeatSummary(
            player.name,
            here=player.level is not None or seat in audience.seated,
            kept=player.kept,
            again=seat in audience.gone_on,
            standing=state.standing(seat),
            vacant=player.vacant,
            ready=state.stage == "gathering"
            and (seat in state.ready or (player.program and not player.kept)),
            level=player.level,
            people=peoples[seat],
            chosen=state.stage == "gathering" and player.people is not None,
        )
        seats.append(summary if policy is None else policy.summary(seat, summary))
    return TableState(
        code,
        state.stage,
        seats,
        state.host or 0,
        state.options.random_layout,
        len(audience.spectators),
        state.absence,
        state.next_table,
        state.title,
        state.private,
        state.no_spectators,
        state.options.starting,
        list(audience.spectators.values()),
        state.ended,
        state.hints,
        quiet=state.quiet,
        turn_limit=state.clocks.limit if state.stage == "playing" else None,
    )
