"""What bots say at the beginning and at the end of a game."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from client.levels import LEVELS
from client.tables.table import TableModel
from client.ui.screens.scoring import Result
from client.ui.state import Mute, TalkLog
from client.ui.texts.manners import farewell, greeting
from engine.game import GameOptions
from protocol.bot_names import level_of, person_of
from tests.client.ui import seen
from tests.games import played, seeds

BOTS = ("Livia (consul)", "Gaius (slave)", "Marcia (plebeian)")
SAYS = {level.name: level for level in LEVELS}
names = st.lists(st.sampled_from(["Ann", "bot-1", "Gaia"]), min_size=1, max_size=2).flatmap(
    lambda people: st.permutations([*people, *BOTS[: 3 - len(people)]])
)
codes = st.text("ACDEFHJKLMNPRTWXY", min_size=4, max_size=4)


def at_table(
    names: Sequence[str], seat: int | None, commands: int, seed: int, code: str = "KXQT"
) -> TableModel:
    model = seen.model_of(played(GameOptions(3, random_layout=True), seed, commands), seat)
    state = seen.change(model)
    seats = [structs.replace(each, name=name) for each, name in zip(state.seats, names, strict=True)]
    seen.change(model, table=code, seats=seats)
    return model


@given(names, codes, seeds)
def test_one_bot_greets_and_says_a_word_at_the_end(names: list[str], code: str, seed: int) -> None:
    """It is what one of its level says, and the same for all readers; a bot that has won speaks as one."""
    readers = [None, *(seat for seat, name in enumerate(names) if name not in BOTS)]
    (said,) = {greeting(at_table(names, seat, 0, seed, code), lambda _name: True) for seat in readers}
    name = next(name for name in BOTS if name in names and said.startswith(f"{person_of(name)}: "))
    assert said.partition(": ")[2] in SAYS[level_of(name)].greetings

    models = [at_table(names, seat, 36, seed, code) for seat in readers]
    (said,) = {farewell(model, lambda _name: True) for model in models}
    view = models[0].view
    assert view is not None
    assert view.result is not None
    name = next(name for name in BOTS if name in names and said.startswith(f"{person_of(name)}: "))
    level = SAYS[level_of(name)]
    winners = [names[seat] for seat in view.result.winners]
    bots_won = any(each in BOTS for each in winners)
    assert (name in winners) == bots_won
    assert said.partition(": ")[2] in (level.on_victory if bots_won else level.on_defeat)


def test_nobody_speaks_unheard_among_bots_in_a_record_or_before_the_end() -> None:
    names = ["Ann", BOTS[0], "Bob"]
    model = at_table(names, 0, 0, 1)
    assert greeting(model, TalkLog().hears)
    assert greeting(model, TalkLog().after(Mute(BOTS[0], on=True)).hears) == ""
    assert farewell(model, TalkLog().hears) == ""
    assert greeting(at_table(BOTS, 0, 0, 1), TalkLog().hears) == ""
    model.recorded = True
    assert greeting(model, TalkLog().hears) == ""


def test_the_greeting_is_the_log_s_and_the_farewell_the_result_s() -> None:
    """Where the log said it, a bot's word would give the end away before the scoring."""
    names = ["Ann", BOTS[0], "Bob"]
    game = played(GameOptions(3, random_layout=True), 1)
    model = at_table(names, 0, 36, 1)
    ui = seen.ui_of(game, model)
    hello, goodbye = greeting(model, ui.talk.hears), farewell(model, ui.talk.hears)
    assert hello in ui.log
    assert goodbye
    assert goodbye not in ui.log
    assert goodbye in Result().words(ui, model)
