"""What keys and typed words do wherever the player is: what opens over any page, votes, requests, leaving."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui import requests
from client.ui.first_game import explain
from client.ui.keys import Act, Action
from client.ui.screens.actions import MENU
from client.ui.screens.evening import EveningPage
from client.ui.screens.gathering import Gathering, loses_seat
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import Menu
from client.ui.screens.overlays import Quitting, Signing, TalkPage, hosts_others
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading
from client.ui.state import LinePrompt, Notice, Outcome, TypedLine, Ui
from client.ui.texts.evenings import is_of_evening


def done_anywhere(ui: Ui, action: Action, model: TableModel) -> Outcome | None:
    """Return the effect of an action that works on every page; None for others."""
    does = _ANYWHERE.get(action) if isinstance(action, Act) else None
    return None if does is None else does(ui, model)


def _reading(topic: Act) -> Callable[[Ui, TableModel], Outcome]:
    def read(ui: Ui, _model: TableModel) -> Outcome:
        return ui.without(Reading).opened(Reading(topic)), None

    return read


def _read_whole(ui: Ui, model: TableModel) -> Outcome:
    hint = ui.page.game.hint if isinstance(ui.page.game, Playing) else ""
    hint = hint or explain(ui.explains, model)
    told = hint if ui.notice is None else ui.notice.text
    return replace(ui.opened(Reading(Act.WHOLE, told=told)), notice=None), None


def _type_command(ui: Ui, _model: TableModel) -> Outcome:
    return replace(ui, entry=TypedLine()), None


def _open_menu(ui: Ui, model: TableModel) -> Outcome | None:
    if isinstance(ui.overlay, Menu):
        return None
    return (ui if model.state is None else ui.opened(Menu(MENU))), None


def _open_evening(ui: Ui, _model: TableModel) -> Outcome:
    if ui.evening is None:
        return ui.with_notice(_("There is no evening on this server.")), None
    return ui.opened(EveningPage()), None


def _say(ui: Ui, model: TableModel) -> Outcome:
    if not isinstance(ui.page, LobbyPage):
        prompt = LinePrompt.SAY_ALOUD if _lobby_hears(ui, model) else LinePrompt.SAY
        return replace(ui, entry=TypedLine(prompt)), None
    if (stays := _without_lobby_chat(ui)) is not None:
        return stays, None
    return replace(ui, entry=TypedLine(LinePrompt.SAY_IN_LOBBY)), None


def _lobby_hears(ui: Ui, model: TableModel) -> bool:
    """Return whether the lobby hears what the player says at the table."""
    state = model.state
    if state is None or state.stage != "gathering" or state.switches.private:
        return False
    listed = ui.company is not None and not ui.company.fault
    return listed and not is_of_evening(ui.evening, state.table)


def _read_talk(ui: Ui, _model: TableModel) -> Outcome:
    if isinstance(ui.page, LobbyPage) and (stays := _without_lobby_chat(ui)) is not None:
        return stays, None
    return replace(ui.opened(TalkPage()), talk=replace(ui.talk, unread=0)), None


def _give_sign(ui: Ui, model: TableModel) -> Outcome:
    return (ui if model.state is None else ui.opened(Signing())), None


def _without_lobby_chat(ui: Ui) -> Ui | None:
    """Return why the player cannot talk in the lobby, with a line for another name if that is the reason."""
    if not ui.offers.lobby:
        return ui.with_notice(_("This server has no chat in the lobby."))
    if ui.company is not None and ui.company.fault:
        entry = TypedLine(LinePrompt.NAME).filled(ui.name)
        return replace(ui.without(), entry=entry, notice=Notice(ui.company.fault, refusal=True))
    return None


def _leave(ui: Ui, model: TableModel) -> Outcome | None:
    """Ask before a page is left where leaving ends more than the visit to it."""
    if isinstance(ui.page, LobbyPage) and hosts_others(ui, model):
        return ui.opened(Quitting(requests.Errand.GO_HOME, hosts=True)), None
    if len(ui.pages) == 1 and ui.page.asks_to_quit:
        return ui.opened(Quitting()), None  # one Esc too many must not end the program
    return None


def _quit(ui: Ui, model: TableModel) -> Outcome:
    if ui.page.leads_back:
        return ui, ui.way_back
    running = isinstance(ui.page, Playing) and model.seat is not None
    hosts = hosts_others(ui, model)
    if running or hosts:
        return ui.opened(Quitting(hosts=hosts, running=running)), None
    if isinstance(ui.page, Gathering) and loses_seat(ui, model):
        return ui.opened(Quitting(gives_up_seat=True)), None
    if len(ui.pages) > 1:  # whoever wants to go back there may take q for the key
        return ui.opened(Quitting()), None
    return ui, requests.Errand.QUIT


_ANYWHERE: Final[Mapping[Act, Callable[[Ui, TableModel], Outcome | None]]] = {
    Act.HELP: _reading(Act.HELP),
    Act.RULES: _reading(Act.RULES),
    Act.COUNTS: _reading(Act.COUNTS),
    Act.WHOLE: _read_whole,
    Act.COMMAND: _type_command,
    Act.MENU: _open_menu,
    Act.EVENING: _open_evening,
    Act.CHAT: _say,
    Act.TALK: _read_talk,
    Act.SIGN: _give_sign,
    Act.LEAVE: _leave,
    Act.QUIT: _quit,
}
