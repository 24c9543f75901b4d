"""The pages before a game: the lobby's list of tables, and waiting at a table."""

from client.address import loopback
from client.language import N_, _, counted, listed
from client.table import TableModel
from client.ui.draw.clocks import describe_policy
from client.ui.draw.frame import Block, block_of
from client.ui.draw.lines import EMPTY, Line, beside, line, padded, paragraphs
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import your_seat
from client.ui.update.actions import Action, ChooseLine
from client.ui.update.state import Ui
from protocol.absence import WAIT, Wait
from protocol.messages import TableLine, TableState
from protocol.text import printable

_DETAILS = 2  # lines below the list that tell how the chosen table is set up

_COLUMNS = (8, 22, 8)  # a table's code, its host, its seats
_STAGE = 24

_STAGES = {"gathering": N_("waiting for players"), "playing": N_("playing"), "over": N_("over")}


def lobby(ui: Ui, glyphs: GlyphSet, width: int, height: int) -> Block:
    """Return the list of tables, its last line for a new one."""
    words = (_("TABLE"), _("HOST"), _("SEATS"))
    heading = "".join(padded(word, cells) for word, cells in zip(words, _COLUMNS, strict=True))
    rows: list[tuple[Line, Action | None]] = [(EMPTY, None), (line(f"  {heading}", "class:heading"), None)]
    room = max(height - 11 - _DETAILS, 1)
    first = min(max(ui.chosen - room + 1, 0), max(len(ui.tables) - room, 0))
    for at, table in enumerate(ui.tables[first : first + room], start=first):
        rows.append((_chosen(ui, glyphs, at, _table_text(table, ui.kept_seats), width), ChooseLine(at)))
    if ui.tables:
        rows += [(content, None) for content in _details(ui)]
    else:
        nothing = _("No tables are open. Open one, and others can join.")
        rows.append((line(f"  {nothing}", "class:faint"), None))
    rows += [
        (EMPTY, None),
        (_chosen(ui, glyphs, len(ui.tables), _("A new table"), width), ChooseLine(len(ui.tables))),
    ]
    rows += [(content, None) for content in _set_up(ui)]
    return block_of(rows, width)


def _details(ui: Ui) -> list[Line]:
    """Return how the chosen table is set up; as many empty lines if it is the new one."""
    if ui.chosen >= len(ui.tables):
        return [EMPTY] * _DETAILS
    table = ui.tables[ui.chosen]
    words = (_describe_layout(at_random=table.random_layout), describe_policy(table.absence))
    return [line(f"  {'':8}{each}", "class:faint") for each in words]


def _describe_layout(*, at_random: bool) -> str:
    return _("the tiles are laid at random") if at_random else _("the players lay the tiles")


def _set_up(ui: Ui) -> list[Line]:
    """Return how a new table would be: each line the keys, and what they have been set to."""
    keys_and_words = (
        ("2-5", counted("{n} player", "{n} players", ui.players).format(n=ui.players)),
        ("x", _describe_layout(at_random=ui.random_layout)),
        ("a" if isinstance(ui.absence, Wait) else "a + -", describe_policy(ui.absence)),
    )
    return [beside(line(f"    {keys:<6}", "class:key"), line(words)) for keys, words in keys_and_words]


def _table_text(table: TableLine, kept: frozenset[str]) -> str:
    seats = _("{taken} of {seats}").format(taken=table.taken, seats=table.players)
    cells = zip((table.table, printable(table.host), seats), _COLUMNS, strict=True)
    stage = padded(_(_STAGES[table.stage]), _STAGE)
    note = your_seat() if table.table in kept else ""
    return "".join((*(padded(*cell) for cell in cells), stage, note))


def _chosen(ui: Ui, glyphs: GlyphSet, at: int, text: str, width: int) -> Line:
    if at != ui.chosen:
        return line(f"  {text}")
    return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")


def room(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Block:
    """Return who sits at the table, and what it still waits for."""
    state = model.state
    if state is None:
        return Block(tuple(paragraphs(["", "  " + _("Taking a seat.")], width)))
    heading = _("Table {table}").format(table=state.table)
    lines: list[Line] = [EMPTY, line(f"  {heading}", "class:heading"), EMPTY]
    for seat, each in enumerate(state.seats):
        sign = glyphs.pointer if seat == model.seat else " "
        who = line(_("free"), "class:off") if each.name is None else line(each.name, "class:mine")
        words = [
            word for word, said in ((_("host"), seat == state.host), (_("you"), seat == model.seat)) if said
        ]
        if each.kept:
            words.append(_("not here yet"))
        elif each.name is not None and not each.here:
            words.append(_("away"))
        note = line(f"  ({', '.join(words)})" if words else "")
        lines.append(beside(line(f"  {sign} {seat + 1}  "), who, note))
    lines.append(EMPTY)
    if state.spectators:
        watching = _("spectators: {number}").format(number=state.spectators)
        lines += [line(f"    {watching}", "class:faint"), EMPTY]
    lines += [beside(line("  "), text) for text in paragraphs([_waits_for(state, model)], width - 4)]
    if state.absence != WAIT:
        absence = _("At this table: {policy}.").format(policy=describe_policy(state.absence))
        lines += [beside(line("  "), text) for text in paragraphs([absence], width - 4, "class:faint")]
    if not ui.hosting.private and any(each.name is None for each in state.seats):
        lines += _how_to_join(ui, state.table)
    return Block(tuple(lines))


def _how_to_join(ui: Ui, table: str) -> list[Line]:
    """Return what others type to take a seat, and what seats a bot."""
    lines = [EMPTY]
    if ui.hosting.addresses or not loopback(ui.address):
        lines.append(line("  " + _("Others join with"), "class:faint"))
    else:
        lines.append(line("  " + _("Others on this computer join with"), "class:faint"))
    lines += [line(f"      palatinus join {each} {table}") for each in ui.hosting.addresses or (ui.address,)]
    if not ui.hosting.addresses and loopback(ui.address):
        elsewhere = _("From another computer the address is different: the host's screen shows it.")
        lines.append(line(f"  {elsewhere}", "class:faint"))
    if ui.hosting.bots:
        return [*lines, EMPTY, line("  " + _("b: let a bot take a free seat"), "class:faint")]
    lines += [EMPTY, line("  " + _("A bot joins with"), "class:faint")]
    return [*lines, line(f"      palatinus bot {ui.address} {table} --rematch")]


def _waits_for(state: TableState, model: TableModel) -> str:
    free = sum(each.name is None for each in state.seats)
    kept = [each.name for each in state.seats if each.kept and each.name]
    if kept:
        waits = _("Waiting for {names}.").format(names=listed(kept))
    elif free:
        waits = counted("Waiting for {n} more player.", "Waiting for {n} more players.", free).format(n=free)
    elif model.seat == state.host:
        waits = _("Everybody is here. Press Enter to start.")
    else:
        host = state.seats[state.host].name or _("the host")
        waits = _("Everybody is here. {name} starts the game.").format(name=host)
    at_random, by_players = _("The tiles will be laid at random."), _("The players will lay the tiles.")
    return f"{waits} {at_random if state.random_layout else by_players}"
