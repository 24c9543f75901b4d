"""A whole game as one SVG picture that moves: nothing but its styles shows and hides its parts."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias
from xml.etree import ElementTree as ET

from client.records import Recording
from client.ui.export.moment import moment_at
from client.ui.export.picture import Drawing, Moment, drawing, in_document
from client.ui.screens.replay import describe_eyes
from client.ui.screens.scoring import scene, steps_in_brief
from engine.view import Eyes

_SECONDS_OF_MOVE: Final = 0.8
_SECONDS_OF_STEP: Final = 1.6  # of the scoring
_SECONDS_OF_END: Final = 6.0
_STEP: Final = "{at:.4g}% {{ visibility: {look}; }}"
_RULES: Final = """@keyframes {name} {{ {steps} }}
.{name} {{ animation: {name} {seconds:g}s step-end infinite; visibility: {at_rest}; }}
"""
_STILL: Final = "@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }\n"

Frames: TypeAlias = tuple[int, ...]  # the numbers of those in which something is seen


def as_animation(recording: Recording, stop: int, eyes: Eyes) -> str:
    """Return an SVG document in which the game is played up to this stop, over and over.

    Where the reader wants nothing to move, it shows the end.
    """
    lasting, moments = zip(*_moments(recording, stop, eyes), strict=True)
    rows = max(len(moment.rows) for moment in moments)
    frames = [drawing(moment, recording.names, rows) for moment in moments]
    times = [0.0, *itertools.accumulate(lasting)]
    named: dict[Frames, str] = {}
    parts = []
    for part, seen in _variants(frames):
        if len(seen) < len(frames):
            part.set("class", named.setdefault(seen, f"f{len(named)}"))
        parts.append(part)
    style = "".join(_rules(name, seen, times) for seen, name in named.items())
    whole = Drawing(frames[-1].title, parts, max(frame.height for frame in frames))
    return in_document(whole, style + _STILL)


def _moments(recording: Recording, stop: int, eyes: Eyes) -> Iterator[tuple[float, Moment]]:
    """Yield the game after each move, and the scoring without each piece's part in it; with seconds."""
    for number in range(min(stop, recording.moves + 1)):
        yield _SECONDS_OF_MOVE, moment_at(recording, number, eyes)
    if stop > recording.moves:
        view, told = recording.view(stop, eyes), describe_eyes(recording, eyes)
        for number in steps_in_brief(view)[:-1]:
            step = scene(view, number, recording.names)
            yield _SECONDS_OF_STEP, Moment(step.board, step.marks, (told, step.sentence))
    yield _SECONDS_OF_END, moment_at(recording, stop, eyes)


def _variants(frames: Sequence[Drawing]) -> Iterator[tuple[ET.Element, Frames]]:
    """Yield each part once for each of its looks, from back to front, with the frames that have it so."""
    for variants in itertools.zip_longest(*(frame.parts for frame in frames)):
        seen: dict[str, list[int]] = {}
        drawn: dict[str, ET.Element] = {}
        for number, part in enumerate(variants):
            if part is not None and len(part):
                text = ET.tostring(part, encoding="unicode")
                drawn.setdefault(text, part)
                seen.setdefault(text, []).append(number)
        yield from ((part, tuple(seen[text])) for text, part in drawn.items())


def _rules(name: str, seen: Frames, times: Sequence[float]) -> str:
    """Return the style of what is seen in some frames; each lasts from one of the times to the next."""
    looks = ["visible" if at in seen else "hidden" for at in range(len(times) - 1)]
    steps = (
        _STEP.format(at=100 * times[at] / times[-1], look=look)
        for at, look in enumerate(looks)
        if at == 0 or look != looks[at - 1]
    )
    return _RULES.format(name=name, steps=" ".join(steps), seconds=times[-1], at_rest=looks[-1])
