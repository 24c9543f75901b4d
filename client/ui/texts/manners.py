"""What a bot says as a game with people begins, and after it; clients know the words, servers send none."""

from collections.abc import Callable, Collection, Sequence

from client.language import _, labelled
from client.levels import LevelText, level_named
from client.tables.table import TableModel
from client.ui.texts.tables import names_at
from protocol.bot_names import level_of, person_of


def greeting(model: TableModel, hears: Callable[[str], bool]) -> str:
    """Return what one of the bots says as the game begins; "" if there is none whom the player `hears`."""
    return _said(model, hears, (), lambda level, _first: level.greetings)


def farewell(model: TableModel, hears: Callable[[str], bool]) -> str:
    """Return what one of the bots says after the game: one that has won, if there is one."""
    if model.view is None or (ended := model.view.result) is None:
        return ""
    return _said(model, hears, ended.winners, lambda level, won: level.on_victory if won else level.on_defeat)


def _said(
    model: TableModel,
    hears: Callable[[str], bool],
    first: Collection[int],
    texts_of: Callable[[LevelText, bool], Sequence[str]],
) -> str:
    """Return what a bot says, one of the seats that come `first` if it can be; the same to all readers.

    Bots among themselves say nothing, none does in a record, and only those with a person's name speak.
    """
    if model.state is None or model.recorded:
        return ""
    names = [each.name or "" for each in model.state.seats]
    levels = {at: level_named(level_of(name)) for at, name in enumerate(names) if person_of(name) != name}
    bots = [(at, level) for at, level in levels.items() if level is not None]
    if not bots or len(levels) == len(names):
        return ""
    bots = [each for each in bots if each[0] in first] or bots
    number = sum(map(ord, model.state.table))  # another one at the next table
    seat, level = bots[number % len(bots)]
    if not hears(names[seat]):
        return ""
    texts = texts_of(level, seat in first)
    return labelled(names_at(model)[seat], _(texts[number // len(bots) % len(texts)]))
