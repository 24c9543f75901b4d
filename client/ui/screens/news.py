"""How news from the server changes the UI state, and when to alert the player."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct, structs

from client.language import N_, _, counted
from client.network.refusals import describe_refusal
from client.player.preferences import Explanations
from client.records import Suggestion
from client.tables.table import (
    Back,
    Closed,
    ConnectionLost,
    Happened,
    HeardRemark,
    NoticesChanged,
    PlanNews,
    Refreshed,
    SentFromEvening,
    TableChanged,
    TableClosed,
    TableModel,
    Update,
    open_request,
)
from client.ui.at_table import next_vote, ready_to_place
from client.ui.draw.page import is_called, on_turn
from client.ui.leads import changed_hands, describe_own_prey, preying, who_has_no_wolf_left
from client.ui.led_walk import leads, step_shown
from client.ui.requests import Join, Open, Request, WatchTable
from client.ui.screens.action import May
from client.ui.screens.actions import INVITE
from client.ui.screens.evening import EveningPage
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import Invited, LobbyPage, TakingOver, has_free_seat
from client.ui.screens.menu import At
from client.ui.screens.overlays import Announcements, Quitting, Signing, TalkPage
from client.ui.screens.planning import PlanChoice, choices_for
from client.ui.screens.playing import Ended, Playing
from client.ui.screens.scoring import Result, Scoring, at_step, last_step, step_of
from client.ui.state import (
    ANNOUNCEMENTS_KEPT,
    LOG_KEPT,
    REMARKS_KEPT,
    LinePrompt,
    Notice,
    Nowhere,
    OnlineList,
    Outage,
    Screen,
    TalkLog,
    TypedLine,
    Ui,
    is_at_seat,
    with_game,
    with_lobby_remarks,
    with_overheard,
    with_remark,
    with_sign,
)
from client.ui.texts import games, tables
from client.ui.texts.advice import Advice, describe_suggestion
from client.ui.texts.evenings import describe_part, describe_round, is_of_evening, table_of
from client.ui.texts.manners import greeting
from client.ui.texts.names import by
from client.ui.texts.plans import describe_played
from engine import events
from engine.errors import Fault
from engine.legal import LegalPlaces
from engine.view import Phase, View
from protocol.codes import Code, sentence
from protocol.messages import (
    Announced,
    Evening,
    LobbyRemark,
    News,
    Online,
    SaidInLobby,
    Stopping,
    TableState,
    TableSummary,
)

SEAT_FREE: Final = N_("A seat is free. g: take it")
_PARTY: Final = 10  # people in the lobby

_MISTYPED: Final = frozenset(
    {
        *(Code.NO_SUCH_TABLE, Code.NO_SUCH_SEAT, Code.NO_SUCH_LEVEL, Code.SEAT_TAKEN, Code.PEOPLE_TAKEN),
        *(Code.BAD_ADDRESS, Code.ADDRESS_NOT_ALLOWED, Code.WRONG_CODE),
        *(Code.NOBODY_THERE, Code.NOT_A_PERSON, Code.NOT_AWAY, Code.NOT_YOURSELF),
        *(Code.TEXT_UNPRINTABLE, Code.TEXT_TOO_MANY_MARKS, Code.TEXT_BLANK, Code.TEXT_NOT_COMPOSED),
        *(Fault.NOT_AN_OUTER_POSITION, Fault.NOT_AN_ORIENTATION, Fault.POSITION_TAKEN, Fault.POSITION_APART),
        *(Fault.NOT_IN_HAND, Fault.SOLDIER_DUE, Fault.NO_SUCH_FIELD, Fault.FIELD_TAKEN),
    }
)


def at_table_page(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` on the page that fits the server's table; choices made on another page are forgotten."""
    page = ui.page
    if not page.at_server:
        return ui
    if ui.talk.table != model.table:
        lobby_talk = ui.talk if ui.talk.table is None else ui.lobby_talk
        talk = lobby_talk if model.table is None else TalkLog(model.table)
        ui = replace(ui.without(TalkPage, Signing), talk=talk, lobby_talk=lobby_talk, signs=())
    here: Screen
    if model.table is None and not (ui.offers.private and ui.busy):  # which is about to open a table
        here = page if isinstance(page, LobbyPage) else LobbyPage()
    elif model.view is None:
        here = page if isinstance(page, Gathering) else Gathering()
    elif model.state is not None and model.state.ended:
        here = page if isinstance(page, Ended) else Ended()
    elif model.view.phase is Phase.OVER:
        here = page if isinstance(page, Scoring | Result) else Scoring()
    else:
        here = page if isinstance(page, Playing) else Playing()
    if here is page:
        return ui
    ui = replace(ui, explains=_explains_next(ui))
    return ui.without(Quitting, TakingOver, Invited).with_page(here)


def _explains_next(ui: Ui) -> Explanations | None:
    """Return what is explained after this page: of the game after a finished one, only how tiles are laid."""
    over = isinstance(ui.page, Scoring | Result)
    return structs.replace(ui.explains, wanted=False) if over and ui.explains is not None else ui.explains


def _explains_still(ui: Ui, model: TableModel) -> Explanations | None:
    """Return what is explained now: how tiles are laid not any more once the player has laid some."""
    view, state = model.view, model.state
    if ui.explains is None or view is None or state is None or model.seat is None:
        return ui.explains
    laid = view.phase is not Phase.LAYING and not state.random_layout
    return structs.replace(ui.explains, laying=False) if laid else ui.explains


def after_update(ui: Ui, update: Update, model: TableModel) -> Ui:
    ui = at_table_page(ui, model)
    ui = replace(ui, explains=_explains_still(ui, model))
    match update:
        case Happened():
            return _after_events(replace(ui, clock_at=ui.now), update, model)
        case Refreshed(before, first, stood_in):
            missed = math.inf if model.left_at is None else model.left_at
            # It is earlier than all that is logged already.
            earlier = _sentences(before, first, stood_in, tables.names_at(model), missed)
            return _after_snapshot(replace(ui, clock_at=ui.now, log=(*earlier, *ui.log)[-LOG_KEPT:]), model)
        case TableChanged(state, before):
            ui = replace(ui, told_at=ui.now)
            if model.view is not None and model.view.phase is Phase.OVER:  # nobody waits for who leaves
                return _after_end(ui, state, before, model)
            if _asks_more(state, before):
                ui = replace(ui, asked_at=ui.now)
            paused = before is not None and before.paused is not None
            if ui.entry is None and (_asks_more(state, before) or (paused and state.paused is None)):
                # It would hide what is asked, and the keys that answer; or it is about a pause that is over.
                ui = replace(ui, notice=None)
            changes = tables.describe_changes(state, before, model.view)
            if seat_freed(update, model):
                changes = [*changes, _(SEAT_FREE)]
            if ui.offers.private:  # bots are always there; they come when this program does
                alone = isinstance(ui.page, Gathering)
                changes = [each for each in changes if not (alone or isinstance(each, tables.PresenceLine))]
            return _come_or_gone(ui, changes)
        case HeardRemark():
            reads = isinstance(ui.overlay, TalkPage)
            talk = with_remark(ui.talk, update, model, ui.name, read=reads)
            talk = talk if is_at_seat(update) else _noted(talk, ui)
            return ui if talk is ui.talk else with_sign(replace(ui, talk=talk), update)
        case Online(people, more):
            return _with_company(ui, OnlineList(tuple(people), more), model)
        case Evening():
            return _evening_news(ui, update, model)
        case SentFromEvening(refused) if refused.code == Code.NOT_SIGNED_UP:  # they had left before
            return replace(ui, person=None)
        case SentFromEvening(refused):
            text = describe_refusal(refused)
            return with_log(replace(ui, person=None), [text]).with_notice(text, refusal=True)
        case SaidInLobby(remarks):
            return _after_lobby_remarks(ui, remarks)
        case PlanNews() | NoticesChanged():
            return with_log(ui, _told_alone(update, model))
        case TableClosed(refused):
            return with_log(replace(ui, busy=False), [describe_refusal(refused)])
        case ConnectionLost(reason, retry_in):
            ui = ui if ui.lost is not None else with_log(ui, [reason])
            return replace(ui, lost=Outage(reason, ui.now + retry_in), stops_at=None, company=None)
        case Back() if ui.lost is None:  # gone on to where the table is, which is no news to the player
            return replace(ui, notice=None, stops_at=ui.stops_at if update.stopping else None)
        case Back():
            return with_log(replace(ui, lost=None, notice=None), [_("The connection is back.")])
        case Closed(reason=reason):
            return replace(ui, lost=Outage(reason, None), stops_at=None, busy=False)
        case _:
            return with_log(_beside_log(ui, update), [tables.describe_news(update)])


def _beside_log(ui: Ui, news: News) -> Ui:
    """Return `ui` with what news of the server changes beside the log."""
    match news:
        case Announced(text):  # over the page until it is closed, below those not closed yet
            unread = (each for over in ui.overlays if isinstance(over, Announcements) for each in over.texts)
            texts = (*unread, text)[-ANNOUNCEMENTS_KEPT:]
            return ui.without(Announcements).opened(Announcements(texts))
        case Stopping(seconds):
            return replace(ui, stops_at=None if seconds is None else ui.now + seconds)
        case _:
            return ui


def _after_lobby_remarks(ui: Ui, remarks: Sequence[LobbyRemark]) -> Ui:
    """Return `ui` with what was said in the lobby, which those at a waiting table overhear."""
    reads = isinstance(ui.overlay, TalkPage)
    if ui.talk.table is None:
        talk = with_lobby_remarks(ui.talk, remarks, ui.name, read=reads)
        return _with_invitation(replace(ui, talk=_noted(talk, ui)), ui.talk)
    talk = _noted(with_overheard(ui.talk, remarks, ui.lobby_talk, read=reads), ui)
    heard = with_lobby_remarks(ui.lobby_talk, remarks, ui.name, read=False)
    return replace(ui, talk=talk, lobby_talk=replace(heard, unread=ui.lobby_talk.unread))


def _noted(talk: TalkLog, ui: Ui) -> TalkLog:
    """Return the chat with the time of what is new in it since that of `ui`, which nobody has seen yet."""
    return talk if talk.remarks == ui.talk.remarks else replace(talk, heard_at=ui.now, seen=False)


def _told_alone(update: PlanNews | NoticesChanged, model: TableModel) -> list[str]:
    """Return in sentences what nobody else is told."""
    if isinstance(update, PlanNews):
        return list(describe_played(update.played, tables.names_at(model)))
    return [tables.describe_notices(update.notices)]


def _with_company(ui: Ui, company: OnlineList, model: TableModel) -> Ui:
    """Return `ui` with the people online; before a game, arrivals in the lobby are logged as news.

    Each is announced once, and nobody in a crowd, which is no party of friends, nor at an evening's tables.
    """
    before, ui = ui, replace(ui, company=company)
    page = ui.page
    if not isinstance(page, Gathering) or before.company is None or len(ui.guests) > _PARTY:
        return ui
    if is_of_evening(ui.evening, model.table):
        return ui
    known = {each.name for each in before.company.people if each.at == "lobby" or each.table == model.table}
    came = [each for each in ui.guests if each.name not in known and each.name not in page.announced]
    if not came:
        return ui
    form = _("{name} has come to the lobby.")
    if INVITE.may(At(ui, model)) is May.YES:
        form = _("{name} has come to the lobby. i: invite")
    ui = ui.with_page(replace(page, announced=page.announced.union(each.name for each in came)))
    return with_log(ui, [form.format(name=tables.describe_guest(each)) for each in came])


def _with_invitation(ui: Ui, before: TalkLog) -> Ui:
    """Return `ui` with the question whether to follow the last new invitation, each table's once."""
    known = {each.table for each in before.remarks}
    new = [each for each in ui.talk.remarks if each.table not in known and each.speaker != ui.name]
    if not new or not isinstance(ui.page, LobbyPage) or (table := new[-1].table) is None:
        return ui
    return ui.without(Invited).opened(Invited(new[-1].speaker, table))


def heard_from_lobby(before: Ui, after: Ui) -> str | None:
    """Return what has just been heard that calls the player to the lobby's people, or away from them."""
    if isinstance(after.overlay, Invited) and after.overlay != before.overlay:
        return after.overlay.sentence
    was, now = before.page, after.page
    if isinstance(was, Gathering) and isinstance(now, Gathering) and now.announced != was.announced:
        return after.log[-1]
    return None


def _played_again(ui: Ui, state: TableState, before: TableState | None, model: TableModel) -> Iterator[str]:
    """Yield who plays again, if that is new and the page does not say so anyway."""
    if not isinstance(ui.page, Scoring) or before is None:
        return
    if any(now.again and not then.again for now, then in zip(state.seats, before.seats, strict=False)):
        yield games.describe_rematch(state, model.seat)


def _after_end(ui: Ui, state: TableState, before: TableState | None, model: TableModel) -> Ui:
    """Return `ui` after a change at the table of a finished game."""
    again = _played_again(ui, state, before, model)
    changes = [*_lead_changes(state, before, model), *again]
    return with_log(_where_led(ui, state, before, model), changes)


def _begins_to_show(state: TableState, before: TableState | None, view: View | None) -> bool:
    """Return whether somebody leads through the scoring from now on."""
    if step_shown(state, view) is None:
        return False
    return (
        before is None
        or step_shown(before, view) is None
        or tables.who_leads(before) != tables.who_leads(state)
    )


def _where_led(ui: Ui, state: TableState, before: TableState | None, model: TableModel) -> Ui:
    """Return `ui` at the step of the scoring to which it is led, unless the player walks alone.

    Those who have gone further when somebody begins to lead stay there.
    """
    page, view, step = ui.page, model.view, step_shown(state, model.view)
    if view is None or not isinstance(page, Scoring | Result):
        return ui
    if step is None or leads(model):
        return ui.with_page(replace(page, alone=False)) if page.alone else ui
    here = step_of(page, view)
    if _begins_to_show(state, before, view):
        page = replace(page, alone=here > step)
    if page.alone or here == min(step, last_step(view)):
        return ui.with_page(page)
    return replace(ui.with_page(at_step(view, step)), ticks_left=None)


def _lead_changes(state: TableState, before: TableState | None, model: TableModel) -> Iterator[str]:
    """Yield who leads from now on through the scoring or the review, or leads no more, and who studies."""
    view, unled = model.view, None if before is None else structs.replace(before, shown=None)
    if _begins_to_show(state, before, view):
        form = _("{name} leads everybody through the scoring. f: follow, or stop following")
        own = _("You lead everybody through the scoring.")
        yield own if leads(model) else form.format(name=tables.who_leads(state))
        state, before = structs.replace(state, shown=None), unled
    elif state.shown is not None and step_shown(state, view) is None is not step_shown(before, view):
        before = unled  # whoever has led through the scoring leads the review
    yield from tables.describe_lead_changes(state, before)


def seat_freed(update: TableChanged, model: TableModel) -> bool:
    """Return whether a spectator can sit down now, and could not before."""
    before, state = update.before, update.state
    waits = before is not None and before.table == state.table and not before.has_seat
    return waits and state.has_seat and state.stage == "gathering" and model.seat is None


def _asks_more(state: TableState, before: TableState | None) -> bool:
    """Return whether a pause, a request or a vote has begun."""
    if before is None:
        return False
    began = (open_request(state), open_request(before)), (state.paused, before.paused)
    voted = zip(state.seats, before.seats, strict=False)
    return any(now and not then for now, then in began) or any(
        now.votes_needed and not then.votes_needed for now, then in voted
    )


def with_log(ui: Ui, sentences: Sequence[str]) -> Ui:
    if not sentences:
        return ui
    # A player who reads older lines keeps them in view.
    scroll = ui.scroll + len(sentences) if ui.scroll else 0
    since_end = ui.since_end + len(sentences)
    log = (*ui.log, *sentences)[-LOG_KEPT:]
    return replace(ui, log=log, scroll=min(scroll, LOG_KEPT - 1), since_end=since_end)


def with_refusal(
    ui: Ui,
    text: str,
    code: str = "",
    request: Request | None = None,
    model: TableModel | None = None,
) -> Ui:
    """Return `ui` showing the server's refusal, and the refused line if it can be corrected.

    A correct command that cannot be carried out now closes its line, so that the next key is not typed into
    it. A player who places a piece too early is asked whether to plan that, unless the field is taken.
    """
    if code == Fault.NOT_YOUR_TURN and isinstance(request, events.Place):
        view = None if model is None else model.view
        if view is None or request.field not in view.placed:
            return replace(ui, busy=False, sent=None).opened(PlanChoice(choices_for(request)))
        text, code = sentence(_(Fault.FIELD_TAKEN.text), {"field": request.field}), Fault.FIELD_TAKEN
    sent = ui.sent if ui.sent is not None and (code in _MISTYPED or not ui.sent.command) else None
    return replace(ui, notice=Notice(text, refusal=True), busy=False, entry=ui.entry or sent, sent=None)


def with_name_refusal(ui: Ui, text: str, request: Open | Join | WatchTable | None) -> Ui:
    """Return `ui` with a line for another name, under which the request is made again, if there is one."""
    entry = TypedLine(LinePrompt.NAME).filled(ui.name)
    return replace(ui, notice=Notice(text, refusal=True), busy=False, entry=entry, sent=None, retry=request)


def with_tables(
    ui: Ui, summaries: Iterable[TableSummary], model: TableModel, kept: frozenset[str] = frozenset()
) -> Ui:
    """Return `ui` with the tables of the lobby: first those that can be joined, last those that are over.

    Games that all their players have left come before those, unless the player has a seat there, and seats in
    games under way after those at tables that wait for players.

    The line chosen stays on its table. At first it is that of a table in `kept`, where a seat is kept, or
    else the first; from a table whose game is over it goes to the first where a seat is kept from now on.
    """
    ui = at_table_page(ui, model)
    if not isinstance(lobby := ui.page, LobbyPage):
        return ui

    def place(table: TableSummary) -> tuple[bool, bool, int]:
        seated = table.table in kept
        rank = 0 if seated or has_free_seat(table) else 1 if table.vacant else 2
        return table.stage == "over", table.deserted and not seated, rank

    found = tuple(sorted(summaries, key=place))
    over = lobby.chosen < len(lobby.tables) and lobby.tables[lobby.chosen].stage == "over"
    new = kept - lobby.kept_seats if lobby.tables else kept
    own = next((at for at, table in enumerate(found) if table.table in new), None)
    if not lobby.tables or (over and own is not None):
        chosen = own or 0
    elif lobby.chosen >= len(lobby.tables):
        chosen = len(found)
    else:
        code, nearest = lobby.tables[lobby.chosen].table, min(lobby.chosen, len(found))
        chosen = next((at for at, table in enumerate(found) if table.table == code), nearest)
    return ui.with_page(LobbyPage(found, kept, chosen, listed=True))


def at_other_table(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` moved to another table, with its input, settings, log and talk kept."""
    if ui.talk.table is None or model.table is None:
        ui = at_table_page(ui, model)
    ui = replace(ui, explains=_explains_next(ui))
    ui = replace(ui.with_page(Nowhere()), entry=None, sent=None, retry=None, notice=None)
    ui = replace(ui, asked=None, busy=False)
    talk = replace(ui.talk, table=model.table)
    return replace(ui.with_only(Announcements), talk=talk, scroll=0, ponders=False, ticks_left=None, speed=0)


def at_next_table(ui: Ui, model: TableModel, talk: TalkLog) -> Ui:
    """Return `ui` at the table of the next game with the same players, with their talk continued.

    It may be the same table, at which a spectator takes a seat. `talk` is the last game's before the request
    for the new table: news may have moved `ui` there already, with nothing but repeated remarks.
    """
    there = at_other_table(at_table_page(ui, model), model)
    known = {each.number for each in talk.remarks} if talk.table == model.table else set[int | None]()
    new = [each for each in there.talk.remarks if each.number is None or each.number not in known]
    remarks = (*talk.remarks, *new)[-REMARKS_KEPT:]
    unread = min(talk.unread + min(there.talk.unread, len(new)), REMARKS_KEPT)
    return replace(there, talk=replace(talk, table=model.table, remarks=remarks, unread=unread))


def called_to(ui: Ui, model: TableModel) -> str | None:
    """Return the sentence that calls the player to a table of the evening; None if nothing does."""
    table = table_of(ui.evening, ui.person)
    if ui.evening is None or table is None or table.table == model.table:
        return None
    return describe_part(ui.evening, ui.person, model.table)


def _evening_news(ui: Ui, evening: Evening, model: TableModel) -> Ui:
    """Return `ui` with the evening as it is now, over its page if the player is called to a table."""
    before, ui = ui, replace(ui, evening=evening)
    if before.evening is not None and before.evening.round != evening.round:
        ui = with_log(ui, [describe_round(evening)])
    sentence = called_to(ui, model)
    if sentence is None or sentence == called_to(before, model):
        return ui
    ui = with_log(ui, [sentence])
    plays = isinstance(ui.page, Playing) and model.seat is not None
    if plays or isinstance(ui.overlay, Announcements):
        return ui
    return ui.without(EveningPage).opened(EveningPage())


def with_suggestion(ui: Ui, suggestion: Suggestion, model: TableModel) -> Ui:
    """Return `ui` with the move that is suggested, its reason in words, and all that it takes chosen."""
    view, playing, command = model.view, ui.page.game, suggestion.command
    if view is None or not isinstance(playing, Playing):
        return ui
    if isinstance(command, events.LayTile):
        chosen = replace(playing, position=command.position, orientation=command.orientation)
        text = _("Hint: position {position}, {turned}.")
        turned = games.turned(command.orientation)
        advice = Advice(text.format(position=command.position, turned=turned), suggestion.reason)
    else:
        there = view.layout.hexes[command.field]
        chosen = replace(playing, piece=command.piece, cursor=there, hovered=None)
        advice = describe_suggestion(view, command, suggestion, tables.names_at(model))
    hint = " ".join((advice.brief, _("Ask again to hear why."))) if advice.more else advice.brief
    return with_game(ui, replace(chosen, hint=hint, why=advice.more)).with_notice(hint)


def _come_or_gone(ui: Ui, sentences: Sequence[str]) -> Ui:
    """Log who came and went; a connection that keeps breaking does not fill the log.

    As long as nothing else is logged, only a player's latest coming or going stays.
    """
    returned = {sentence.player for sentence in sentences if isinstance(sentence, tables.PresenceLine)}
    log = list(ui.log)
    latest = len(log)
    while latest and isinstance(log[latest - 1], tables.PresenceLine):
        latest -= 1
    kept = [
        line
        for line in log[latest:]
        if not (isinstance(line, tables.PresenceLine) and line.player in returned)
    ]
    scroll = max(ui.scroll - len(log[latest:]) + len(kept), 0)
    return with_log(replace(ui, log=(*log[:latest], *kept), scroll=scroll), sentences)


def _sentences(
    seen: Sequence[events.SeenEvent],
    first: int,
    stood_in: Sequence[int],
    names: Sequence[str],
    left_at: float,
) -> list[str]:
    """Return what happened from event `first` on, without the scoring: the log would give the end away.

    The events after number `left_at` happened while the player was away.
    """
    told = []
    for number, event in enumerate(seen, start=first):
        if not isinstance(event, events.ScoringEvent):
            sentence = games.describe_event(event, names)
            sentence = tables.by_stand_in(sentence) if number in stood_in else sentence
            told.append(tables.while_away(sentence) if number > left_at else sentence)
    return told


def _after_events(ui: Ui, happened: Happened, model: TableModel) -> Ui:
    seen = happened.events
    if happened.by == "clock" and isinstance(seen[0], events.Placed | events.WolfPlaced | events.TileLaid):
        text = _("{name}'s time is up: a bot makes the move.")
        ui = with_log(ui, [text.format(name=tables.names_at(model)[seen[0].seat])])
    first = happened.seq - len(seen) + 1
    caught_up = model.left_at is not None and first <= model.left_at + 1
    left_at = model.left_at if model.left_at is not None and caught_up else math.inf
    ui = with_log(ui, _sentences(seen, first, happened.stood_in, tables.names_at(model), left_at))
    begins = any(isinstance(event, events.GameStarted) for event in seen)
    if begins and (said := greeting(model, ui.talk.hears)):
        ui = with_log(ui, [said])
    match seen, model.view:
        case [events.Placed() | events.WolfPlaced() as placed, *_], View() as view:
            if list(view.placed)[-1:] == [placed.field]:  # not taken back since
                ui = with_log(ui, list(_consequences(view, tables.names_at(model))))
    if isinstance(table := ui.page.game, Playing) and table.hint:
        ui = with_game(ui, replace(table, hint="", why=""))
    for event in seen:
        match event, ui.page.game:
            case events.TileDrawn(), Playing() as table:
                ui = with_game(ui, replace(table, position=None, orientation=0))
            case events.TakenBack(), Playing():
                ui = _after_snapshot(ui, model)
            case events.GameEnded(), Scoring() | Result():
                ui = replace(ui.with_only(Announcements, TalkPage), entry=None, notice=None, since_end=0)
                ui = with_game(ui, Scoring(begun=True))
            case _:
                pass
    if on_turn(model) and ui.entry is None and ui.notice is not None:
        ui = replace(ui, notice=None)  # it was of what was too early, or of another's turn
    if on_turn(model):
        ui = ui.without(PlanChoice)
    return _ready(ui, model)


def _consequences(view: View, names: Sequence[str]) -> Iterator[str]:
    """Yield what the last piece placed has changed for everybody to see, before the scoring."""
    if view.phase is not Phase.PLACING:
        return
    for each in changed_hands(view):
        if each.leader is not None:
            form = by(
                names[each.leader],
                _("{name} takes the lead on hill {hill}, worth {worth}."),
                _("You take the lead on hill {hill}, worth {worth}."),
            )
            yield form.format(name=names[each.leader], hill=each.hill, worth=each.worth)
    for field, prey in preying(view):
        name = names[view.owners[field]]
        form = by(
            name,
            counted(
                "{name}'s soldier on {field} now has {n} piece to capture.",
                "{name}'s soldier on {field} now has {n} pieces to capture.",
                len(prey),
            ),
            counted(
                "Your soldier on {field} now has {n} piece to capture.",
                "Your soldier on {field} now has {n} pieces to capture.",
                len(prey),
            ),
        )
        told = form.format(name=name, field=field, n=len(prey)), describe_own_prey(view, prey, names)
        yield " ".join(filter(None, told))
    if (seat := who_has_no_wolf_left(view)) is not None:
        none = by(
            names[seat], _("{name} has no more wolves to place."), _("You have no more wolves to place.")
        )
        yield none.format(name=names[seat])


def _ready(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` with a move that can be made under the keys, if it is the player's turn at a table."""
    page, placed = ui.page, 0 if model.view is None else len(model.view.placed)
    if (
        not isinstance(page, Playing)
        or not isinstance(model.legal, LegalPlaces)
        or page.ready_after == placed
    ):
        return ui
    piece, cursor = ready_to_place(page, model)
    return ui.with_page(replace(page, piece=piece, cursor=cursor, ready_after=placed))


def _after_snapshot(ui: Ui, model: TableModel) -> Ui:
    if model.view is None:
        return ui
    match ui.page:
        case Playing():
            return _ready(ui, model)
        case Scoring(0):
            return ui.with_page(Result())
        case _:
            return ui


class Occasion(Struct, frozen=True):
    """A reason to alert the player; `what` identifies it at the same table."""

    table: str
    what: str
    sentence: str


def occasions(model: TableModel) -> Iterator[Occasion]:
    """Yield the reasons to alert the player now, most important first; none for a spectator."""
    table, seat, state, view = model.table, model.seat, model.state, model.view
    if table is None or seat is None or state is None:
        return
    if view is None:
        here = all(each.name is not None and not each.kept for each in state.seats)
        if here and seat == state.host:
            yield Occasion(table, "everybody", _("Everybody is here: you can start the game."))
        return
    if view.phase is Phase.OVER:
        again = [each.again for each in state.seats]
        if any(again) and not again[seat]:
            yield Occasion(table, "again", games.describe_rematch(state, seat))
        yield Occasion(table, "over", _("All pieces are placed: the scoring begins."))
        return
    names = tables.names_at(model)
    if is_called(model):
        turn = f"turn {sum(tile is not None for tile in view.tiles)} {len(view.placed)}"
        yield Occasion(table, turn, games.describe_turn(model, names))
    if (vote := next_vote(model)) is not None and vote.agree:
        told = _("{name} is away: vote whether a bot plays.").format(name=names[vote.seat])
        yield Occasion(table, f"vote {vote.seat}", told)
    asked = open_request(state)
    if asked is not None and seat not in asked.seats:
        told = tables.describe_asked(asked, names, view)
        yield Occasion(table, f"{asked.what} {asked.seats[0]}", told)
    yield Occasion(table, "begun", _("The game has begun."))
