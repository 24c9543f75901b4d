"""The animation of a game: at each moment it shows exactly what a picture of that moment does."""

import itertools
import re
from xml.etree import ElementTree as ET

import pytest

from client.records import Recording
from client.ui.export.animation import as_animation
from client.ui.export.moment import moment_at
from client.ui.export.picture import drawing
from engine.pieces import Seat
from engine.view import SPECTATOR, Eyes, eyes_of
from tests.client.ui.analysed import recording_of
from tests.games import rest_slow

Steps = list[tuple[float, bool]]  # from so many hundredths on, visible or not

ALL = frozenset({Seat(0), Seat(1)})
NAMESPACE = re.compile(r"(</?)\w+:|\s?xmlns:\w+=\"[^\"]*\"")
RULE = re.compile(
    r"@keyframes (\w+) \{ (.*) \}\n\.(\w+) \{ animation: \w+ ([\d.]+)s step-end infinite; (.*); \}"
)
STEP = re.compile(r"([\d.e-]+)% \{ visibility: (\w+); \}")


def told(part: ET.Element) -> str:
    """Return a part of a picture without what is the animation's own."""
    copy = ET.fromstring(ET.tostring(part))  # noqa: S314 - it is ours
    if re.fullmatch(r"f\d+", copy.get("class", "")):
        del copy.attrib["class"]
    text = NAMESPACE.sub(r"\1", ET.tostring(copy, encoding="unicode"))
    return re.sub(r">\s+<", "><", text).replace(" />", "/>")


class Animation:
    def __init__(self, svg: str) -> None:
        _title, style, _ground, *self._parts = ET.fromstring(svg)  # noqa: S314 - it is ours
        assert style.text is not None
        self._steps: dict[str, Steps] = {}
        self._at_rest: dict[str, bool] = {}
        lasting = set()
        for name, steps, same, seconds, rests in RULE.findall(style.text):
            assert name == same
            lasting.add(float(seconds))
            self._steps[name] = [(float(at), look == "visible") for at, look in STEP.findall(steps)]
            self._at_rest[name] = rests == "visibility: visible"
        assert "prefers-reduced-motion" in style.text
        assert len(lasting) == 1
        self.seconds = lasting.pop()
        self.changes = sorted({at for steps in self._steps.values() for at, _look in steps})

    def at(self, hundredth: float) -> list[str]:
        """Return the parts that are visible just then."""
        return [told(part) for part in self._parts if self._is_seen(part.get("class", ""), hundredth)]

    def at_rest(self) -> list[str]:
        return [told(part) for part in self._parts if self._at_rest.get(part.get("class", ""), True)]

    def _is_seen(self, name: str, hundredth: float) -> bool:
        steps = [(0.0, True), *self._steps.get(name, [])]
        return [look for at, look in steps if at <= hundredth][-1]


def picture(recording: Recording, stop: int, eyes: Eyes, rows: int) -> list[str]:
    drawn = drawing(moment_at(recording, stop, eyes), recording.names, rows)
    return [told(part) for part in drawn.parts if len(part)]


@pytest.mark.slow
@pytest.mark.parametrize("viewer", rest_slow((3, eyes_of(Seat(0))), (2, ALL), (5, SPECTATOR)))
def test_each_move_is_shown_as_its_picture_is(viewer: tuple[int, Eyes]) -> None:
    """To each viewer: no more is seen than in a picture, and nothing but the end where nothing may move."""
    players, eyes = viewer
    recording = recording_of(players)
    stop = recording.moves
    animation = Animation(as_animation(recording, stop, eyes))
    middles = [(one + other) / 2 for one, other in itertools.pairwise([*animation.changes, 100.0])]
    assert len(middles) == stop + 1
    rows = max(len(moment_at(recording, at, eyes).rows) for at in range(stop + 1))
    for at in {0, *range(5, stop, 4), stop}:
        assert animation.at(middles[at]) == picture(recording, at, eyes, rows), at
    assert animation.at_rest() == animation.at(100.0)


@pytest.mark.slow
def test_the_scoring_is_shown_hill_by_hill() -> None:
    recording = recording_of(3)
    whole = Animation(as_animation(recording, recording.end, frozenset()))
    moves = Animation(as_animation(recording, recording.moves, frozenset()))
    assert len(whole.changes) > len(moves.changes) + 7
    assert whole.seconds > moves.seconds + 7
    laurels = [sum('class="won ' in part for part in whole.at(at)) for at in whole.changes]
    assert laurels == sorted(laurels)
    assert laurels[-1] > 3
