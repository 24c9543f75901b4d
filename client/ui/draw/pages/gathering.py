"""The page of a table whose game has not begun: who sits there, and what it waits for."""

from collections.abc import Iterator

from client.language import _, counted, listed
from client.tables.table import TableModel
from client.typed.address import describe_found_as, loopback
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, beside, chips, line, paragraphs
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import ServerPage, short_list
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_of, spectator_name
from client.ui.texts.pieces import PEOPLES
from client.ui.texts.set_up import (
    describe_hints,
    describe_policy,
    describe_private,
    describe_spectators,
    describe_starting,
)
from client.ui.update.state import Ui
from engine.pieces import People
from protocol.absence import WAIT
from protocol.messages import TableState


class GatheringDrawing(ServerPage, frozen=True):
    """A table whose game has not begun."""

    def body(self, width: int, height: int) -> Block:
        return with_news(gathering_block(self.ui, self.model, self.glyphs, width), self.ui, width, height)

    def small_body(self, width: int, height: int) -> Block:
        return short_list(self.ui, gathering_block(self.ui, self.model, self.glyphs, width), width, height)


def gathering_block(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Block:
    """Return who sits at the table, and what it still waits for."""
    state = model.state
    if state is None:
        return Block(tuple(paragraphs(["", "  " + _("Taking a seat.")], width)))
    heading = _("Table {table}").format(table=state.table)
    if state.title:
        heading = f"{heading}: {state.title}"
    lines: list[Line] = [EMPTY, line(f"  {heading}", "class:heading"), EMPTY]
    for seat, each in enumerate(state.seats):
        sign = glyphs.pointer if seat == model.seat else " "
        who = line(_("free"), "class:off") if each.name is None else line(each.name, "class:mine")
        words = [
            word for word, said in ((_("host"), seat == state.host), (_("you"), seat == model.seat)) if said
        ]
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
        people = EMPTY if each.people is None else beside(chips([People(each.people)]), line(" "))
        lines.append(beside(line(f"  {sign} {seat + 1}  "), people, who, note))
    lines.append(EMPTY)
    if state.spectators:
        named = listed(spectator_name(each.number, each.name) for each in state.watching)
        watching = _("spectators: {names}").format(names=named or state.spectators)
        lines += [beside(line("    "), text) for text in paragraphs([watching], width - 6, "class:faint")]
        lines.append(EMPTY)
    lines += [beside(line("  "), text) for text in paragraphs([_waits_for(state, model)], width - 4)]
    if special := list(_set_up(state)):
        so = _("At this table: {settings}.").format(settings="; ".join(special))
        lines += [beside(line("  "), text) for text in paragraphs([so], width - 4, "class:faint")]
    if not ui.hosting.private and any(each.name is None for each in state.seats):
        lines += _how_to_join(ui, state.table, host=model.seat == state.host)
    return Block(tuple(lines))


def _set_up(state: TableState) -> Iterator[str]:
    """Yield what the host has set otherwise than usual."""
    if state.private:
        yield describe_private(private=True)
    if state.no_spectators:
        yield describe_spectators(allowed=False)
    if state.hints:
        yield describe_hints(allowed=True)
    if state.starting is not None:
        yield describe_starting(state.starting, names_of(state, 0))
    if state.absence != WAIT:
        yield describe_policy(state.absence)


def _how_to_join(ui: Ui, table: str, *, host: bool) -> list[Line]:
    """Return what others type to take a seat, and how to seat a bot."""
    lines = [EMPTY]
    if ui.hosting.way_in:
        lines.append(line("  " + _("Others join with"), "class:faint"))
        lines.append(line(f"      {ui.hosting.way_in}"))
        return [*lines, *_seats_bots(ui)] if host else lines
    if ui.hosting.addresses or not loopback(ui.address):
        lines.append(line("  " + _("Others join with"), "class:faint"))
    else:
        lines.append(line("  " + _("Others on this computer join with"), "class:faint"))
    lines += [line(f"      palatinus join {each} {table}") for each in ui.hosting.addresses or (ui.address,)]
    lines += [line(f"      {each}") for each in ui.hosting.other_ways]
    if ui.hosting.found_as:
        lines.append(line(f"  {describe_found_as(ui.hosting.found_as)}", "class:faint"))
    if not ui.hosting.addresses and loopback(ui.address):
        elsewhere = _("From another computer the address is different: palatinus serve prints it.")
        lines.append(line(f"  {elsewhere}", "class:faint"))
    if ui.hosting.levels:
        return [*lines, *_seats_bots(ui)] if host else lines
    lines += [EMPTY, line("  " + _("A bot joins with"), "class:faint")]
    return [*lines, line(f"      palatinus bot {ui.address} {table} --rematch")]


def _seats_bots(ui: Ui) -> list[Line]:
    text = "  " + _("b: let a bot take a free seat")
    return [EMPTY, line(text, "class:faint")] if ui.hosting.levels else []


def _waits_for(state: TableState, model: TableModel) -> str:
    free = sum(each.name is None for each in state.seats)
    kept = [each.name for each in state.seats if each.kept and each.name]
    if kept:
        waits = _("Waiting for {names}.").format(names=listed(kept))
    elif free:
        waits = counted("Waiting for {n} more player.", "Waiting for {n} more players.", free).format(n=free)
    elif model.seat == state.host:
        waits = _("Everybody is here. Press Enter to start.")
        others = (each for seat, each in enumerate(state.seats) if seat != state.host)
        if unready := [each.name for each in others if each.name and not each.ready]:
            waits += " " + _("Not ready yet: {names}.").format(names=listed(unready))
    else:
        host = state.seats[state.host].name or _("the host")
        waits = _("Everybody is here. {name} starts the game.").format(name=host)
    at_random, by_players = _("The tiles will be laid at random."), _("The players will lay the tiles.")
    return f"{waits} {at_random if state.random_layout else by_players}"
