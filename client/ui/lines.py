"""The client in text mode: news is printed, and typed lines are answered or carried out.

What a player can ask for is all that a screen shows, in lines to be read aloud.
"""

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from prompt_toolkit.utils import get_cwidth

from client.language import N_, _, counted, labelled, listed, parted, yes_letters
from client.player.terminal import Calling
from client.tables.table import TableModel
from client.typed_text import BadText
from client.ui.at_table import request_to_answer
from client.ui.draw.page import asked_question, countdown, on_turn, paged, remark_rows, vote_question
from client.ui.draw.panel import Panel
from client.ui.frame import WIDE, in_ascii, spoken, wrapped
from client.ui.interaction import Interaction
from client.ui.keys import Act, Action, ChooseLine, InsertText, Key
from client.ui.leads import describe_needed, describe_soldiers_to_act, hill_leads
from client.ui.led_walk import describe_seen
from client.ui.screens.actions import PAGES, agree, keys_at, refuse
from client.ui.screens.arguments import placement
from client.ui.screens.dispatch import letters
from client.ui.screens.gathering import Gathering, gathering_block, set_up
from client.ui.screens.lobby import LobbyPage, tables_in_words
from client.ui.screens.menu import At
from client.ui.screens.news import at_table_page
from client.ui.screens.overlays import Announcements
from client.ui.screens.playing import Ended, Playing
from client.ui.screens.reading import counts_in_words, rules
from client.ui.screens.replay import Replay, hand_title, told_of_move
from client.ui.screens.scoring import Result, Scoring, last_step, scene, step_of
from client.ui.screens.typed_commands import (
    help_on_commands,
    help_on_hosting,
    help_rows,
    is_command,
)
from client.ui.spots import (
    FieldSpot,
    HillSpot,
    Marks,
    describe_field,
    hills,
    just_placed,
    placed_there,
    shown_layout,
    spots,
)
from client.ui.state import Choices, LinePrompt, Pane, Screen, TypedLine, Ui, with_game
from client.ui.terminal.device import LineTerminal, Remote
from client.ui.terminal.shell import on_stop_signals
from client.ui.texts import games
from client.ui.texts.glyphs import glyphs_to_read
from client.ui.texts.names import called
from client.ui.texts.pieces import piece_words
from client.ui.texts.story import captives_of
from client.ui.texts.tables import describe_online, names_at, spectator_name
from engine.board import FIELDS, ORIENTATIONS, TILES, Field, Hex, LaidTile, Tile, fields_of
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece, Seat
from engine.view import Phase, View
from protocol.text import printable

_LOG_LINES: Final = 10
_EVERYTHING: Final = "all"  # to ask help for


def _anywhere(_ui: Ui, _model: TableModel) -> bool:
    return True


def _at_board(_ui: Ui, model: TableModel) -> bool:
    return model.view is not None


def _in_game(_ui: Ui, model: TableModel) -> bool:
    return model.view is not None and model.view.phase is not Phase.OVER


def _at_seat(ui: Ui, model: TableModel) -> bool:
    return _in_game(ui, model) and model.seat is not None


def _placing(ui: Ui, model: TableModel) -> bool:
    return _at_seat(ui, model) and model.view is not None and model.view.phase is Phase.PLACING


class Question(NamedTuple):
    """What can be asked, what the answer is, and whether there is one now."""

    typed: str
    meaning: str
    when: Callable[[Ui, TableModel], bool] = _at_board


QUESTIONS: Final = (
    Question("hand", N_("the pieces in your hand"), _in_game),
    Question("hill D", N_("a hill: its laurel, the influence there, its pieces")),
    Question("field D4", N_("a field: its piece, and what is beside it")),
    Question("if Em D4", N_("what a piece would do on a field"), _placing),
    Question(
        "if 4 2",
        N_("what the fields of the tile would be beside, at position 4, turned twice"),
        lambda _ui, model: isinstance(model.legal, LegalLays),
    ),
    Question("board", N_("all hills with their pieces")),
    Question("tiles", N_("where the tiles lie")),
    Question("moves", N_("what you may do now"), _at_seat),
    Question("turn", N_("whose turn it is, and what is asked of you")),
    Question("players", N_("the players, their clocks, and how much they have left to place")),
    Question("leaders", N_("who leads on each hill"), _in_game),
    Question(
        "could win",
        N_("on which hills you could still come into the lead, and what you need there"),
        _placing,
    ),
    Question("since", N_("what the others have placed since your turn"), _at_seat),
    Question("springs", N_("the springs, and what stands on them")),
    Question("captured", N_("who has captured which pieces")),
    Question("counts", N_("what everybody may still hold"), _in_game),
    Question("points", N_("the points so far, or the result")),
    Question(
        "chances",
        N_("everybody's chances, in a record that is being analysed"),
        lambda ui, _model: isinstance(ui.page, Replay) and ui.page.analysis is not None,
    ),
    Question(
        "table", N_("the table: who sits there, how it is set up"), lambda _ui, model: model.state is not None
    ),
    Question("tables", N_("the tables in the lobby"), lambda ui, _model: isinstance(ui.page, LobbyPage)),
    Question("talk", N_("what was said, and who is online"), _anywhere),
    Question("log", N_("what happened last"), _anywhere),
    Question("wait", N_("wait for your turn, before the next line is read"), _in_game),
)

_IN_LISTS: Final = (
    ("1, 2, 3 ...", N_("choose the line with that number")),
    ("w 2", N_("use a letter key on a line")),
    ("list", N_("all lines to choose from")),
    ("back", N_("back to where you came from")),
    *help_rows(PAGES),
)


def answer(text: str, ui: Ui, model: TableModel) -> list[str] | None:
    """Return the answer to a question like `hill D`; None if the text is no question."""
    view = model.view
    match text.lower().split():
        case ["help" | "?"]:
            return _help_in_brief(ui, model)
        case ["help" | "?", topic]:
            return _help_on(topic, ui, model)
        case ["list"] if (choices := ui.top.choices(ui, model)) is not None:
            return numbered(choices)
        case ["rules"]:
            return [text for page in paged(rules(WIDE), WIDE) for text in spoken(page)]
        case ["tables"] if isinstance(ui.page, LobbyPage):
            return tables_in_words(ui, ui.page)
        case ["talk"]:
            said = [row for remark in ui.talk.remarks for row in remark_rows(remark, WIDE)]
            told = spoken(said) or [_("Nobody has said anything.")]
            company = ui.company
            return told if company is None else [*told, describe_online(company.people, company.more)]
        case ["log"]:
            return list(ui.log_here[-_LOG_LINES:])
        case ["table"]:
            return _table(ui, model)
        case ["turn"]:
            return _turn(ui, model)
        case [word, *_rest] if view is None:
            known = {question.typed.split()[0] for question in QUESTIONS}
            return [_("No game is running here.")] if word in known else None
        case words if view is not None:
            return _of_game(words, ui, model, view)
    return None


def _help_in_brief(ui: Ui, model: TableModel) -> list[str]:
    """Return what can be typed now: of a list all of it with what it does, elsewhere the words alone."""
    if ui.top.choices(ui, model) is not None:
        return _help_on(_EVERYTHING, ui, model)
    at = At(ui, model)
    keys = ui.top.offered_keys(replace(ui, last_top=0), model)
    does = [typed for typed, _meaning in help_on_commands(at)]
    groups = (
        (_("You can ask"), [question.typed for question in QUESTIONS if question.when(ui, model)]),
        (_("You can do"), does),
        (_("As the host"), [typed for typed, _meaning in help_on_hosting(at)]),
        (_("Here"), dict.fromkeys(word for key in keys for word in key.typed if word and word not in does)),
        (_("Letters"), list(letters(ui, model))),
    )
    told = [labelled(heading, ", ".join(words)) for heading, words in groups if words]
    more = _("For more about a word, type help and the word, such as help {word}, or help {everything}.")
    return [*told, more.format(word="hill", everything=_EVERYTHING)]


def _help_on(topic: str, ui: Ui, model: TableModel) -> list[str]:
    """Return what the typed line that begins with a word does, or everything."""
    rows = [
        labelled(typed, told)
        for typed, told in _help(ui, model)
        if topic in {_EVERYTHING, *(each.split()[0].lower() for each in typed.split(", "))}
    ]
    return rows or [_("Nothing that can be typed here begins with {word}.").format(word=printable(topic))]


def _help(ui: Ui, model: TableModel) -> Iterator[tuple[str, str]]:
    """Yield what can be typed now, and what it does, each thing once."""
    rows: Iterable[tuple[str, str]] = _IN_LISTS
    if ui.top.choices(ui, model) is None:
        at = At(ui, model)
        asked = [(question.typed, question.meaning) for question in QUESTIONS if question.when(ui, model)]
        rows = (*asked, *help_on_commands(at), *help_on_hosting(at))
    does: dict[str, list[str]] = {}
    for typed, words in rows:
        does.setdefault(_(words), []).append(typed)
    for key in ui.top.offered_keys(replace(ui, last_top=0), model):
        does.setdefault(key.words, []).extend(filter(None, key.typed))
    for letter, key in letters(ui, model).items():
        if ui.evening is not None or key.action is not Act.EVENING:
            does.setdefault(key.words, []).append(letter)
    yield from ((", ".join(each), told) for told, each in does.items() if each)


def numbered(choices: Choices) -> list[str]:
    return [f"{number}. {each.spoken}" for number, each in enumerate(choices.lines, start=1)]


def _of_game(words: list[str], ui: Ui, model: TableModel, view: View) -> list[str] | None:
    board = view
    if isinstance(page := ui.page.game, Scoring):  # which takes pieces off the board step by step
        board = scene(view, step_of(page, view), names_at(model)).board
    match words:
        case ["hand"] | ["my", "hand"]:
            return spoken(_panel(ui, model, view).hand())
        case ["hill", letter] if letter.upper() in TILES:
            tile = Tile(letter.upper())
            told = _at(view.layout.hills.get(tile), ui, model, board)
            # Without the heading, and that a hill holds no pieces.
            told = [*told[1:-1], _of_hill(*hills(board)[tile])] if len(told) > 1 else told
            return [*told, *describe_soldiers_to_act(board, [tile])]
        case ["field", name] | [name] if name.upper() in FIELDS:
            return _at(view.layout.hexes.get(Field(name.upper())), ui, model, board)
        case ["what", "if", piece, name] | ["if", piece, name] if name.upper() in FIELDS:
            return _foreseen(piece, Field(name.upper()), ui, model, view)
        case ["if", position, turns] if view.drawn is not None and turns in map(str, ORIENTATIONS):
            return list(_beside_tile(position, LaidTile(view.drawn, int(turns)), ui, model, view))
        case ["board"]:
            return [_standing_on(*each) for each in hills(board).values()]
        case ["tiles"]:
            return list(_tiles(view))
        case ["moves"]:
            return _moves(ui, model)
        case ["players"]:
            return spoken(_panel(ui, model, view).players())
        case ["leaders"] | ["who", "leads"] if not isinstance(page, Scoring | Result):
            return list(_leaders(model, view))
        case ["could", "win"] if not isinstance(page, Scoring | Result):
            return list(_could_win(model, view))
        case ["since"]:
            return list(_since(model, view))
        case ["springs"]:
            return list(_springs(board))
        case ["captured"]:
            return list(_captured(model, board))
        case ["counts"]:
            return list(counts_in_words(view, list(map(called, names_at(model)))))
        case ["points" | "leaders"] | ["who", "leads"]:
            return list(_points(ui, model, view))
        case ["chances"]:
            return _chances(ui)
    return None


def _springs(view: View) -> Iterator[str]:
    fields = (spot for spot in spots(view).values() if isinstance(spot, FieldSpot) and spot.spring)
    found = sorted(fields, key=lambda spot: spot.name)
    yield from (describe_field(spot) for spot in found if spot.piece is not None)
    if empty := [spot.name for spot in found if spot.piece is None]:
        yield _("Empty springs: {fields}.").format(fields=listed(empty))


def _panel(
    ui: Ui, model: TableModel, view: View, cell: Hex | None = None, piece: Piece | None = None
) -> Panel:
    """Return the panel beside a board on which the player points at `cell`, with this piece chosen."""
    chosen = Playing(piece=piece) if cell is None else Playing(cursor=cell, piece=piece)
    pane = Pane(ui, replace(model, view=view), glyphs_to_read(), WIDE, WIDE)
    title = hand_title(model) if isinstance(ui.page, Replay) else _("YOUR HAND")
    return Panel(pane, chosen, title, foresees=piece is not None)


def _at(cell: Hex | None, ui: Ui, model: TableModel, view: View, piece: Piece | None = None) -> list[str]:
    """Return what the panel tells of a field or a hill."""
    if cell is None:
        return [_("NO TILE YET")]
    return spoken(_panel(ui, model, view, cell, piece).field())


def _of_hill(hill: HillSpot, around: Sequence[FieldSpot]) -> str:
    """Return in one line what stands on each field around a hill."""
    words = (_("empty") if each.piece is None else piece_words(each.piece) for each in around)
    fields = (f"{_in_words(each)} {word}" for each, word in zip(around, words, strict=True))
    return labelled(_with_worth(hill), parted(fields))


def _standing_on(hill: HillSpot, around: Sequence[FieldSpot]) -> str:
    """Return in one line the pieces around a hill, and how many fields are empty."""
    told = [f"{each.name} {piece_words(each.piece)}" for each in around if each.piece is not None]
    if empty := sum(each.piece is None for each in around):
        told.append(counted("{n} empty field", "{n} empty fields", empty).format(n=empty))
    return labelled(_with_worth(hill), parted(told))


def _with_worth(hill: HillSpot) -> str:
    heading, laurel = _("HILL {hill}").format(hill=hill.tile), hill.laurel
    if laurel is None:
        return heading
    return _("{heading}, {laurel}, worth {worth}").format(heading=heading, laurel=laurel, worth=hill.worth)


def _in_words(field: FieldSpot) -> str:
    return _("{field} with a spring").format(field=field.name) if field.spring else field.name


def _foreseen(text: str, field: Field, ui: Ui, model: TableModel, view: View) -> list[str]:
    hand = view.hands.get(model.seat, {}) if model.seat is not None else {}
    piece, cell = None, view.layout.hexes.get(field)
    with contextlib.suppress(BadText):
        placed = placement(text, field, model)
        piece = None if placed is None else placed.piece
    if piece is None or not hand.get(piece) or cell is None:
        return [_("There is no {piece} left in your hand.").format(piece=text)]
    return _at(cell, ui, model, view, piece)


def _beside_tile(text: str, laid: LaidTile, ui: Ui, model: TableModel, view: View) -> Iterator[str]:
    """Yield what would be beside the fields of a tile that is laid like this."""
    if not isinstance(model.legal, LegalLays) or text not in map(str, model.legal.positions):
        yield from _moves(ui, model)
        return
    aimed = Marks(preview=(int(text), laid))
    layout, (_hill, fields) = shown_layout(view, aimed), hills(view, aimed)[laid.tile]
    for field in fields:
        beside = listed(layout.adjacent(field.name))
        yield labelled(_in_words(field), _("Beside it: {around}.").format(around=beside))


def _tiles(view: View) -> Iterator[str]:
    for position, laid in enumerate(view.tiles):
        where = _("position {position}").format(position=position) if position else _("the centre")
        what = _("NO TILE YET") if laid is None else f"{laid.tile}, {games.turned(laid.orientation)}"
        yield labelled(where, what)


def _moves(ui: Ui, model: TableModel) -> list[str]:
    if not isinstance(ui.page.game, Playing):
        return _turn(ui, model)
    match model.legal:
        case LegalPlaces(pieces=pieces, fields=fields):
            told = _("You may place {pieces} on {fields}.")  # in the notation, which is typed then
            return [told.format(pieces=", ".join(pieces), fields=", ".join(fields))]
        case LegalLays(positions=positions):
            told = _("You may lay the tile at position {positions}, turned 0 to 5 times.")
            return [told.format(positions=", ".join(map(str, positions)))]
    return [_("It is not your turn.")]


def _turn(ui: Ui, model: TableModel) -> list[str]:
    if isinstance(page := ui.page.game or ui.page, Scoring | Result | Ended):
        return [*dict.fromkeys((*page.words(ui, model), *describe_seen(model)))]
    asked = (asked_question(ui, model), vote_question(model), countdown(ui))
    return [f"{games.describe_turn(model, names_at(model))}.", *filter(None, asked)]


def _since(model: TableModel, view: View) -> Iterator[str]:
    """Yield what was placed since the player's own last piece, or last."""
    placed = just_placed(view, model.seat)
    if not placed:
        yield _("Nothing has been placed yet.")
    for field in placed:
        yield games.describe_event(placed_there(view, field), names_at(model))


def _captured(model: TableModel, view: View) -> Iterator[str]:
    """Yield what each player's soldiers have captured so far."""
    held = [
        (called(name), captives_of(view, Seat(seat)))
        for seat, name in enumerate(names_at(model)[: view.seats])
    ]
    for name, pieces in held:
        if pieces:
            counts = Counter(map(piece_words, pieces)).items()
            yield labelled(
                name, listed(f"{number} {words}" if number > 1 else words for words, number in counts)
            )
    if not any(pieces for _name, pieces in held):
        yield _("Nothing has been captured yet.")


def _leaders(model: TableModel, view: View) -> Iterator[str]:
    yield labelled(_("HILLS"), _("who leads on each hill"))
    names = [called(name) for name in names_at(model)]
    for each in hill_leads(view):
        some = [(name, bounds) for name, bounds in zip(names, each.influence, strict=False) if bounds.most]
        amounts = [f"{name} {games.bounds_text(bounds, in_words=True)}" for name, bounds in some]
        leads = listed(names[seat] for seat in each.leaders) or _("nobody")
        told = labelled(_("HILL {hill}").format(hill=each.hill), leads)
        yield f"{told} ({', '.join(amounts)})" if amounts else told
    yield from describe_soldiers_to_act(view)


def _could_win(model: TableModel, view: View) -> Iterator[str]:
    """Yield the hills that are not decided, with what the player needs there, and where there is room."""
    for each in hill_leads(view):
        empty = [field for field in fields_of(each.hill) if field not in view.placed]
        if not empty or model.seat is None:
            continue
        worth = _("Hill {hill}, worth {worth}").format(hill=each.hill, worth=each.worth)
        free = _("Empty: {fields}.").format(fields=listed(empty))
        yield labelled(worth, " ".join((*describe_needed(view, each.hill, model.seat, in_words=True), free)))
    yield from describe_soldiers_to_act(view)


def _points(ui: Ui, model: TableModel, view: View) -> Iterator[str]:
    match ui.page.game:
        case Result() as page:
            yield from page.words(ui, model)
        case Scoring() as page:
            step, names = step_of(page, view), names_at(model)
            so_far = scene(view, step, names)
            number = _("step {number} of {last}").format(number=step + 1, last=last_step(view) + 1)
            yield labelled(_("SO FAR"), number)
            for seat, points in enumerate(so_far.points):
                influence = sum(each.amount for each in so_far.step.counted if each.seat == seat)
                yield labelled(called(names[seat]), f"{_('influence')} {influence}, {_('points')} {points}")
        case _:
            standings = "" if model.state is None else games.describe_standings(model.state)
            yield standings or _("Nothing has been scored yet.")


def _chances(ui: Ui) -> list[str]:
    page = ui.page
    if not isinstance(page, Replay) or (analysis := page.analysis) is None:
        return [_("No record is being analysed here.")]
    progress = games.describe_progress(analysis) if page.judging else ""
    here = analysis.at(page.stop)
    chances = (
        "" if here is None else games.describe_chances(here, [called(name) for name in page.recording.names])
    )
    return [*filter(None, (progress, chances)), *told_of_move(page, analysis)]


def _table(ui: Ui, model: TableModel) -> list[str]:
    state = model.state
    if state is None or state.stage == "gathering":
        return spoken(gathering_block(replace(ui, log=()), model, glyphs_to_read(), WIDE))
    heading = _("Table {table}").format(table=state.table)
    lines = [labelled(heading, state.title) if state.title else heading, *set_up(state)]
    if state.watching:
        named = listed(spectator_name(each.number, each.name) for each in state.watching)
        lines.append(_("spectators: {names}").format(names=named))
    return lines


_NUMBER: Final = re.compile("[0-9]{1,6}")
_OPTIONS_TOLD: Final = 20  # of a list, unless all are asked for


class Told(NamedTuple):
    """The parts of a page that were printed: none is printed again while the page stays."""

    log: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    now: tuple[str, ...] = ()

    def without(self, earlier: "Told") -> Iterator[str]:
        said: list[str] = []  # now, so that a notice that the log repeats is printed once
        for lines, before in zip(self, earlier, strict=True):
            printed = Counter((*before, *said))
            for text in lines:
                if printed[text]:
                    printed[text] -= 1
                else:
                    said.append(text)
                    yield text


def rows_of(texts: Iterable[str], width: int | None) -> Iterator[str]:
    """Yield each text in rows of at most `width` cells, indented as its beginning is."""
    for text in texts:
        if width is None or get_cwidth(text) <= width:
            yield text
            continue
        margin = text[: min(len(text) - len(text.lstrip(" ")), width // 2)]
        yield from (margin + row for row in wrapped(text, width - len(margin)))


class LineShell:
    """Shows an interaction in text mode: news is printed line by line, and typed lines are read.

    Typed lines wait until the server has answered the one before. At the end of the input, the program ends
    as if the player had quit.
    """

    focused = True  # whoever hears every line need not be called

    def __init__(
        self, interaction: Interaction, terminal: LineTerminal, remote: Remote | None = None
    ) -> None:
        self._interaction, self._terminal, self._remote = interaction, terminal, remote
        self._told: list[Told] = []  # of the first page, and of those above it
        self._change = asyncio.Event()
        self._done = asyncio.Event()
        self._by_player = True

    async def run(self) -> bool:
        """Read and print until the end; return whether the player ended it, not a closed output."""
        if not self._terminal.greeted:
            self._terminal.greeted = True
            self._say([_("Type help for what you can ask and do, and quit to leave.")])
        if self._remote is not None:
            self._remote.attach(self.redraw)
        try:
            with on_stop_signals(self._stop) if self._remote is None else contextlib.nullcontext():
                async with asyncio.TaskGroup() as group:
                    work = [group.create_task(each) for each in (self._report(), self._obey())]
                    await self._done.wait()
                    for task in work:
                        task.cancel()
        finally:
            self._terminal.show_typing(shown=True)
        if self._by_player:
            self._tell()
        return self._by_player

    def redraw(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    redraw_later = redraw

    def quit(self) -> None:
        self._done.set()

    def call(self, title: str, sentence: str) -> None:
        """Do nothing: the reason for an alert has been printed."""

    def call_like(self, calling: Calling) -> None:
        """Do nothing: text mode has no alerts."""

    def _stop(self) -> None:
        self._by_player = False
        self._done.set()

    async def _report(self) -> None:
        while True:
            change = self._change
            await self._caught_up()
            self._tell()
            await change.wait()

    def _tell(self) -> None:
        """Print what is new, if there is room for it; otherwise it is printed when there is."""
        if not self._has_room():
            return
        shown = self._interaction
        ui = at_table_page(shown.ui, shown.model)
        ui = replace(ui.without(Announcements), signs=())  # the log has the former, and a sign is a remark
        if ui.entry is not None and ui.entry.command and not ui.entry.text.endswith(" "):
            ui = replace(ui, entry=None)  # a refused line cannot be corrected here, only typed again
        shown.ui = ui
        passed = isinstance(ui.page, LobbyPage) and not ui.page.listed  # on the way to a study
        listed = [screen.choices(ui, shown.model) is not None for screen in (ui.page, ui.overlay or ui.page)]
        hidden = passed or (ui.overlay is not None and all(listed))  # numbers would mean two lines
        screens = filter(None, (None if hidden else ui.page, ui.overlay))
        words = [each for screen in screens for each in _words(screen, ui, shown.model)]
        remarks = tuple(labelled(each.speaker, each.text) for each in ui.talk.remarks)
        asked = "" if ui.overlay is None else ui.overlay.question(ui)
        lost = ui.lost if ui.page.at_server else None
        outage = "" if lost is None or lost.reason in ui.log[-1:] else lost.reason
        notice = "" if ui.notice is None else ui.notice.text
        name = "" if ui.entry is None else f"{_(ui.entry.prompt.value)} {_begun(ui.entry)}".rstrip()
        log = () if isinstance(ui.page, Replay) else ui.log_here  # a record tells its own moves
        new = tuple(each for each in words if each not in log)
        now = Told(log, remarks, new, tuple(filter(None, (outage, notice, asked, name))))
        secret = ui.entry is not None and ui.entry.prompt is LinePrompt.PASSWORD
        self._terminal.show_typing(shown=not secret)
        self._say(now.without(self._told_before()))
        self._told[-1] = now

    def _told_before(self) -> Told:
        """Return what has been printed of the page, now the last one in the list, and of the talk."""
        ui, model = self._interaction.ui, self._interaction.model
        pages, talk = len(ui.pages), self._told[-1].remarks if self._told else ()
        *below, here = [*self._told, *[Told()] * pages][:pages]
        if pages < len(self._told) and ui.page.choices(ui, model) is not None:
            here = Told()  # whoever comes back to a list hears what there is to choose from
        self._told = [*below, here._replace(remarks=talk)]
        return self._told[-1]

    def _say(self, texts: Iterable[str]) -> None:
        try:
            self._terminal.print(rows_of(map(printable, texts), self._terminal.width))
        except OSError:  # nobody reads any more
            self._stop()

    async def _obey(self) -> None:
        while await self._wait_for_answer() and (typed := await self._terminal.line()) is not None:
            await self._wait_for_answer()
            text = typed.strip()
            self._tell()
            if text == "wait":  # until something is asked of the player, or nothing more is to come
                while not self._asks() and self._goes_on():
                    await self._change.wait()
                continue
            began, cpu = time.perf_counter(), time.thread_time()
            self._carry_out(text)
            self._tell()
            if self._remote is not None:
                taken = time.thread_time() - cpu, time.perf_counter() - began
                await asyncio.sleep(self._remote.painted(*taken))
        await self._wait_for_answer()
        self._by_player = self._remote is None  # who has gone from far away may come back
        self._done.set()

    async def _wait_for_answer(self) -> bool:
        """Wait until the server has answered, or cannot, and all is printed; return whether to go on."""
        while not self._done.is_set() and (self._pending() or not self._has_room()):
            await self._change.wait()
        await self._caught_up()
        return not self._done.is_set()

    async def _caught_up(self) -> None:
        """Wait until the log has what the model knows, or a question would say what the log says next."""
        while self._interaction.service.behind:  # noqa: ASYNC110 - until the next turn of the loop
            await asyncio.sleep(0)

    def _pending(self) -> bool:
        model = self._interaction.model
        ui = at_table_page(self._interaction.ui, model)
        taking_seat = isinstance(ui.page, Gathering) and model.state is None
        unlisted = isinstance(ui.page, LobbyPage) and not ui.page.listed
        return ui.lost is None and (ui.busy or ui.ponders or taking_seat or unlisted)

    def _has_room(self) -> bool:
        return self._remote is None or self._remote.may_paint()

    def _goes_on(self) -> bool:
        """Return whether something comes by itself: others play, or a record is being analysed."""
        ui, model = self._interaction.ui, self._interaction.model
        if isinstance(ui.page, Replay):
            return ui.page.judging
        return ui.lost is None and isinstance(ui.page, Gathering | Playing) and not on_turn(model)

    def _asks(self) -> bool:
        ui = self._interaction.ui
        return ui.asked is not None or (ui.overlay is not None and bool(ui.overlay.question(ui)))

    def _carry_out(self, text: str) -> None:
        """Answer a question, or do what is typed."""
        shown = self._interaction
        ui, model, word = shown.ui, shown.model, text.lower()
        if ui.entry is not None:
            begun = _begun(ui.entry)
            _type(shown, ui.entry.filled(begun), text.removeprefix(begun))
        elif self._asks() and (reply := _reply(word)) is not None:
            shown.act(reply)
        elif (chosen := _choose_line(word, ui, model)) is not None:
            shown.ui, action = chosen
            shown.act(action)
        elif word in (keys := letters(ui, model)):
            shown.act(keys[word].action)
        elif ui.overlay is not None and word == "back":
            shown.act(Act.CANCEL)
        elif here := [key.action for key in ui.top.shown_keys(model) if word in key.typed]:
            shown.act(here[0])
        elif (told := answer(text, ui, model)) is not None:
            self._say(told)
            _point(shown, word)
            return
        elif (key := _letters_in_game(ui).get(text)) is not None:
            shown.act(key.action)
        elif word and (reply := _reply(word)) is not None and request_to_answer(model, on=False) is not None:
            shown.act(agree if reply is Act.CONFIRM else refuse)
        elif word and word in _words_of_keys() and not is_command(word, At(ui, model)):
            self._say([_("There is nothing for {word} to do now.").format(word=word)])
        elif word:
            _type(shown, TypedLine(), text.removeprefix(":"))
            if shown.ui.overlay is not None:  # what is asked for again is told again
                before, below = self._told_before(), _words(shown.ui.page, shown.ui, shown.model)
                self._told[-1] = before._replace(words=tuple(each for each in before.words if each in below))
        if word or shown.ui.notice is not ui.notice:  # a refusal is told each time
            self._told[-1] = self._told_before()._replace(now=())


def _letters_in_game(ui: Ui) -> Mapping[str, Key]:
    """Return the keys of what can be asked for in a game: those that move over the board are no words."""
    keys = keys_at("playing") if ui.page.at_server else ()
    return {name: key for key in keys for name in key.names}


def _words_of_keys() -> Iterator[str]:
    """Yield the words for keys of any screen."""
    kinds: list[type[Screen]] = [Screen]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        yield from (word for key in kind.own_keys for word in key.typed)


def _begun(entry: TypedLine) -> str:
    """Return the beginning of a command that a menu has typed for the player: what is typed completes it."""
    return entry.text if entry.command else ""


def _type(shown: Interaction, entry: TypedLine, text: str) -> None:
    """Type no more into the line than there is room for, and send it; close it if it is not understood."""
    shown.ui = replace(shown.ui, entry=entry)
    shown.act(InsertText(text))
    shown.act(Act.CONFIRM)
    if shown.ui.entry is not None and shown.ui.entry.command:
        shown.show(replace(shown.ui, entry=None))


def _reply(word: str) -> Act | None:
    """Return what a word answers to a question of yes or no, in the language in use or in English."""
    if word in {"", "yes", _("yes"), in_ascii(_("yes")), *yes_letters()}:
        return Act.CONFIRM
    return Act.CANCEL if word in {"no", "n", _("no")} else None


def _words(screen: Screen, ui: Ui, model: TableModel) -> tuple[str, ...]:
    """Return what is told of a screen: of a list, its first lines."""
    if (choices := screen.choices(ui, model)) is None:
        return tuple(screen.words(ui, model))
    lines = numbered(choices)
    more = (_("There are more lines: type list."),) if len(lines) > _OPTIONS_TOLD else ()
    hint = _("Type a number, or back.")
    return (*screen.words(ui, model), *lines[:_OPTIONS_TOLD], *more, hint)


def _choose_line(word: str, ui: Ui, model: TableModel) -> tuple[Ui, Action] | None:
    """Return the state with the line of a list chosen, and what is to be done with it; None for other words.

    It is what Enter does, or the letter before the number.
    """
    *letter, number = word.split() or [""]
    choices, key = ui.top.choices(ui, model), letters(ui, model).get(" ".join(letter))
    if choices is None or not _NUMBER.fullmatch(number) or (letter and key is None):
        return None
    if not 0 < int(number) <= len(choices.lines):
        return None
    if (there := int(number) - 1) != choices.chosen:
        ui, _request = ui.top.act(ui, ChooseLine(there), model)
    return ui, Act.CONFIRM if key is None else key.action


def _point(shown: Interaction, word: str) -> None:
    """Point at a field that was asked about, as with the cursor: lessons ask for that."""
    playing, field = shown.ui.page.game, Field(word.rsplit(maxsplit=1)[-1].upper())
    view = shown.model.view
    if isinstance(playing, Playing) and view is not None and field in view.layout.hexes:
        shown.show(with_game(shown.ui, replace(playing, cursor=view.layout.hexes[field])))
