"""A table before its game: who sits there, and what it is waiting for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from client.language import _, counted, labelled, listed, parted
from client.tables.table import TableModel
from client.typed_text import describe_found_as, loopback
from client.ui.draw.page import (
    LOG_LINES,
    ServerScreen,
    name_or_sign,
    qr_code,
    short_list,
    spectators_sign,
    with_news,
)
from client.ui.frame import (
    EMPTY,
    WIDE,
    Line,
    chips,
    indented,
    line,
    paragraphs,
    side_by_side,
    spoken,
    width_of,
)
from client.ui.keys import AT_TABLE, ON_EVERY_PAGE, RULES, Act, Action
from client.ui.screens.actions import LEAVE, keys_at
from client.ui.screens.overlays import Quitting
from client.ui.state import Outcome, Pane, Ui, closed_for_good
from client.ui.texts import tables
from client.ui.texts.glyphs import GlyphSet, glyphs_to_read
from client.ui.texts.pieces import PEOPLES
from engine.pieces import People, Seat
from protocol.absence import WAIT
from protocol.messages import NEW, Leave, TableState

_KEYS: Final = (
    *keys_at("gathering"),
    *LEAVE.keys,
    *AT_TABLE,
    # Here `i` invites.
    *(structs.replace(key, names=("f2",)) if key is RULES else key for key in ON_EVERY_PAGE),
)


def loses_seat(ui: Ui, model: TableModel) -> bool:
    """Return whether a player who leaves gives up a seat that others could take."""
    return model.seat is not None and not closed_for_good(ui) and not ui.offers.private


@dataclass(frozen=True, slots=True)
class Gathering(ServerScreen):
    """A table before its game; `announced` are those who have come to the lobby since the player is there."""

    announced: frozenset[str] = frozenset()

    own_keys = _KEYS

    def stage(self, model: TableModel) -> str:
        return _("one moment") if model.table is None else ServerScreen.stage(self, model)

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        if action is not Act.LEAVE:
            return ui, None
        if loses_seat(ui, model):
            return ui.opened(Quitting(Leave(NEW), gives_up_seat=True)), None
        return ui, Leave(NEW)

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        block = gathering_block(pane.ui, pane.model, pane.glyphs, pane.width)
        if pane.small:
            return short_list(pane, block), 0
        code = _code_for_phones(pane)
        if code:
            room = pane.width - width_of(code[-1]) - 1
            beside_it = gathering_block(pane.ui, pane.model, pane.glyphs, room)
            height = max(len(beside_it), len(code))
            if height <= pane.height - LOG_LINES and all(width_of(each) <= room for each in beside_it):
                block = side_by_side(beside_it, code, room, pane.width - room, height)
        return with_news(block, pane), 0

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        if ui.offers.private:  # bots sit down at once, and then the game starts
            return ()
        # Who comes to the lobby is told by the log.
        return spoken(gathering_block(replace(ui, company=None), model, glyphs_to_read(), WIDE))


def gathering_block(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> list[Line]:
    state = model.state
    if state is None:
        return paragraphs(["", "  " + _("Taking a seat.")], width)
    heading = _("Table {table}").format(table=state.table)
    if state.title:
        heading = labelled(heading, state.title)
    lines: list[Line] = [EMPTY, line(f"  {heading}", "class:heading"), EMPTY]
    for seat, each in enumerate(state.seats):
        sign = glyphs.pointer if seat == model.seat else " "
        who = line(" " + _("free"), "class:off")
        if each.name is not None:
            who = name_or_sign(ui.signs, Seat(seat), each.name, "class:mine")
        words = [_("host")] if seat == state.host else []
        if seat == model.seat:
            words.append(_("you"))
        if each.kept:
            words.append(_("not here yet"))
        elif each.level is not None:
            words.append(_("bot"))
        elif each.name is not None and not each.here:
            words.append(_("away"))
        if each.ready and each.level is None:
            words.append(_("ready"))
        if each.chosen and each.people is not None:
            words.append(_("{people} chosen").format(people=_(PEOPLES[People(each.people)])))
        note = line(f"  ({', '.join(words)})" if words else "")
        people = EMPTY if each.people is None else line(" ") + chips([People(each.people)])
        lines.append(line(f"  {sign} {seat + 1} ") + people + who + note)
    lines.append(EMPTY)
    if state.spectators:
        named = listed(tables.spectator_name(each.number, each.name) for each in state.watching)
        watching = _("spectators: {names}").format(names=named or state.spectators)
        sign = spectators_sign(ui.signs)
        style = "class:talk" if sign else "class:faint"
        lines += [line("    ") + text for text in paragraphs([sign or watching], width - 6, style)]
    if waiting := tables.describe_guests(ui.guests):
        lines += [line("    ") + text for text in paragraphs([waiting], width - 6, "class:faint")]
    if state.spectators or waiting:
        lines.append(EMPTY)
    lines += indented(_waits_for(state, model), width)
    if special := list(set_up(state)):
        so = _("At this table: {settings}.").format(settings=parted(special))
        lines += indented(so, width, "class:faint")
    if not ui.offers.private and state.room:
        lines += _how_to_join(ui, state.table, width, host=model.seat == state.host)
    return lines


def _code_for_phones(pane: Pane) -> tuple[Line, ...]:
    """Return the QR code that leads a phone to a seat, with a heading; nothing if no phone can play here."""
    state, pages = pane.model.state, pane.ui.ways.pages
    if state is None or not pages or pane.glyphs.ascii or not state.room:
        return ()
    return (line(_("Play on a phone:"), "class:faint"), *qr_code(f"{pages}play/{state.table}"))


def set_up(state: TableState) -> Iterator[str]:
    if state.study:
        yield _("a study")
    yield from tables.describe_unusual(state.switches)
    if state.starting is not None:
        yield tables.describe_starting(state.starting, tables.names_of(state, 0))
    if state.policy != WAIT:
        yield tables.describe_absence(state)


def _how_to_join(ui: Ui, table: str, width: int, *, host: bool) -> list[Line]:
    """Return what others type to take a seat, and how to seat a bot."""
    what = ui.ways
    near = not what.addresses and loopback(ui.address)
    if what.way_in:
        commands = [what.way_in]
    else:
        commands = [f"palatinus join {each} {table}" for each in what.addresses or (ui.address,)]
        commands += what.other_ways
    others = _("Others on this computer join with") if near and not what.way_in else _("Others join with")
    lines = [EMPTY, line("  " + others, "class:faint")]
    lines += _commands(commands, width)
    if not what.way_in:
        said = [describe_found_as(what.found_as)] if what.found_as else []
        if near:
            said.append(_("From another computer the address is different: palatinus serve prints it."))
        lines += (line("  ") + each for each in paragraphs(said, width - 2, "class:faint"))
    if ui.offers.levels and host:
        return [*lines, EMPTY, line("  " + _("b: let a bot take a free seat"), "class:faint")]
    if what.way_in or ui.offers.levels:
        return lines
    lines += [EMPTY, line("  " + _("A bot joins with"), "class:faint")]
    return [*lines, *_commands([f"palatinus bot {ui.address} {table} --rematch"], width)]


def _commands(commands: Sequence[str], width: int) -> list[Line]:
    return [line("      ") + each for each in paragraphs(commands, width - 6)]


def _waits_for(state: TableState, model: TableModel) -> str:
    kept = [each.name for each in state.seats if each.kept and each.name]
    if kept:
        waits = _("Waiting for {names}.").format(names=listed(kept))
        if model.seat == state.host:
            waits += " " + _("Type remove {name} to play without {name}.").format(name=kept[0])
    elif not state.can_start:
        free = state.room
        waits = counted("Waiting for {n} more player.", "Waiting for {n} more players.", free).format(n=free)
        if state.grows:
            waits = _("Everyone who joins gets a seat.")
    elif model.seat == state.host:
        waits = _("Everybody is here. Press Enter to start.")
        if state.grows:
            waits = _("Everyone who joins gets a seat. Press Enter to start with those who are here.")
        if state.grows and not state.room:
            waits = _("All five seats are taken. Press Enter to start; anyone who joins now can watch.")
        others = (each for seat, each in enumerate(state.seats) if seat != state.host)
        if unready := [each.name for each in others if each.name and not each.ready]:
            waits += " " + _("Not ready yet: {names}.").format(names=listed(unready))
    else:
        host = state.seats[state.host].name or _("the host")
        waits = _("Everybody is here. {name} starts the game.").format(name=host)
        if state.grows and state.room:
            waits = _("Everyone who joins gets a seat. {name} starts the game.").format(name=host)
    at_random, by_players = _("The tiles will be laid at random."), _("The players will lay the tiles.")
    return f"{waits} {at_random if state.random_layout else by_players}"
