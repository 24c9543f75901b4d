"""Who is said to lead on a hill does, whatever the wolves are."""

from hypothesis import given
from hypothesis import strategies as st

from client.ui.leads import hill_leads
from engine.components import LAUREL_WORTH
from engine.game import GameOptions
from engine.knowledge import hill_influence
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of
from tests.games import played


@given(st.integers(2, 5), st.integers(0, 10_000), st.integers(0, 80), st.data())
def test_the_lead_on_a_hill(players: int, seed: int, commands: int, data: st.DataObject) -> None:
    """For each player and a spectator: what everybody has lies within what is shown, after every move."""
    game = played(GameOptions(players, random_layout=True), seed, commands)
    eyes = data.draw(st.sampled_from([SPECTATOR, *(eyes_of(Seat(seat)) for seat in range(players))]))
    view = snapshot(game.view, eyes)
    leads = hill_leads(view)
    assert [(each.hill, each.worth) for each in leads] == [
        (hill, LAUREL_WORTH[laurel]) for hill, laurel in sorted(view.laurels.items())
    ]
    for each in leads:
        truth = [bounds.least for bounds in hill_influence(game.view, each.hill).seats]
        for bounds, amount in zip(each.influence, truth, strict=True):
            assert bounds.least <= amount <= bounds.most
        if each.leader is None:
            assert not each.certain
            assert not any(truth) or truth.count(max(truth)) > 1
        elif each.certain:
            assert all(
                truth[each.leader] > amount for seat, amount in enumerate(truth) if seat != each.leader
            )
