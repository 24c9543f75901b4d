"""The pages before a game: the lobby's list of tables, and waiting at a table."""

from client.table import TableModel
from client.ui.frame import Block, block_of
from client.ui.keys import Action, ChooseLine
from client.ui.lines import EMPTY, Line, beside, line, padded, paragraphs
from client.ui.look import Look
from client.ui.state import Ui
from client.ui.texts import YOUR_SEAT
from protocol.messages import TableLine, TableState
from protocol.text import printable

_STAGES = {"gathering": "waiting for players", "playing": "playing", "over": "over"}


def lobby(ui: Ui, look: Look, width: int, height: int) -> Block:
    """Return the list of tables, its last line for a new one."""
    rows: list[tuple[Line, Action | None]] = [
        (EMPTY, None),
        (line(f"  {'TABLE':<8}{'HOST':<22}{'SEATS':<8}{'':<22}", "class:heading"), None),
    ]
    room = max(height - 9, 1)
    first = min(max(ui.chosen - room + 1, 0), max(len(ui.tables) - room, 0))
    for at, table in enumerate(ui.tables[first : first + room], start=first):
        rows.append((_chosen(ui, look, at, _table_text(table, ui.held), width), ChooseLine(at)))
    if not ui.tables:
        rows.append((line("  No table is open. Open one, and others can join it.", "class:faint"), None))
    layout = "tiles laid at random" if ui.random_layout else "tiles laid by the players"
    new = f"A new table for {ui.players} players, {layout}"
    rows += [(EMPTY, None), (_chosen(ui, look, len(ui.tables), new, width), ChooseLine(len(ui.tables)))]
    hint = f"    2 to 5: players {look.dot} x: tiles laid by the players or at random"
    rows += [(line(hint, "class:faint"), None)]
    return block_of(rows, width)


def _table_text(table: TableLine, held: frozenset[str]) -> str:
    host = padded(printable(table.host), 22)
    tiles = "tiles at random" if table.random_layout else ""
    note = YOUR_SEAT if table.table in held else tiles
    return f"{table.table:<8}{host}{table.taken} of {table.players}  {_STAGES[table.stage]:<22}{note}"


def _chosen(ui: Ui, look: Look, at: int, text: str, width: int) -> Line:
    if at != ui.chosen:
        return line(f"  {text}")
    return line(padded(f"{look.turn} {text}", width), "class:chosen")


def room(ui: Ui, model: TableModel, look: Look, width: int) -> Block:
    """Return who sits at the table, and what it still waits for."""
    state = model.state
    if state is None:
        return Block(tuple(paragraphs(["", "  Taking a seat."], width)))
    lines: list[Line] = [EMPTY, line(f"  Table {state.table}", "class:heading"), EMPTY]
    for seat, each in enumerate(state.seats):
        sign = look.turn if seat == model.seat else " "
        who = line("free", "class:off") if each.name is None else line(each.name, "class:mine")
        words = [word for word, said in (("host", seat == state.host), ("you", seat == model.seat)) if said]
        if each.name is not None and not each.here:
            words.append("away")
        note = line(f"  ({', '.join(words)})" if words else "")
        lines.append(beside(line(f"  {sign} {seat + 1}  "), who, note))
    lines.append(EMPTY)
    if state.spectators:
        lines += [line(f"    and watching: {state.spectators}", "class:faint"), EMPTY]
    lines += [beside(line("  "), text) for text in paragraphs([_waits_for(state, model)], width - 4)]
    lines += [EMPTY, line("  Others join with", "class:faint")]
    lines.append(line(f"      palatinus join {ui.address} {state.table}"))
    return Block(tuple(lines))


def _waits_for(state: TableState, model: TableModel) -> str:
    free = sum(each.name is None for each in state.seats)
    layout = "The tiles will be laid at random." if state.random_layout else "The players will lay the tiles."
    if free:
        return f"Waiting for {free} more to take a seat. {layout}"
    if model.seat == state.host:
        return f"Everybody is here. Press Enter to start. {layout}"
    host = state.seats[state.host].name or "the host"
    return f"Everybody is here. {host} starts the game. {layout}"
