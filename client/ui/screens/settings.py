"""What a player prefers, as rows of a form: declared here once for terminal, text mode and help."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, structs

from client.language import N_, _
from client.levels import LEVELS, describe_level, describe_temper
from client.player.preferences import Preferences, WaysIn
from client.player.terminal import DesktopNotices
from client.ui.state import LinePrompt
from client.ui.texts.pieces import PEOPLES
from engine.pieces import People

Turned: TypeAlias = Callable[[Preferences, int], Preferences]


class Row(Struct, frozen=True):
    """A setting as people see it: its name, a sentence of help, what it is, and how it changes.

    It is `turned` to the next of its values, or back; or its value is what is typed at the `prompt`, where
    what was `typed` before stands. `more` says what is to be known of the value, `when` whether there is any.
    """

    name: str
    help: str
    value: Callable[[Preferences], str]
    turned: Turned = lambda now, _by: now
    prompt: LinePrompt | None = None
    typed: Callable[[Preferences], str] = lambda _now: ""
    more: Callable[[Preferences], str] = lambda _now: ""
    when: Callable[[Preferences], bool] = lambda _now: True

    def about(self, now: Preferences) -> str:
        return " ".join(filter(None, (_(self.help), self.more(now))))


def _among(field: str, values: Sequence[object]) -> Turned:
    """Return what makes a field the value after so many among these, after the last the first."""

    def turned(now: Preferences, by: int) -> Preferences:
        at = values.index(getattr(now, field))
        return structs.replace(now, **{field: values[(at + by) % len(values)]})

    return turned


def _switch(field: str, name: str, about: str, *, on: str = N_("on"), off: str = N_("off")) -> Row:
    return Row(name, about, lambda now: _(on if getattr(now, field) else off), _among(field, (False, True)))


_MOST_ROUNDS: Final = 8


def _with_rounds(now: Preferences, by: int) -> Preferences:
    if now.evening is None:
        return now
    rounds = (now.evening.rounds + by) % (_MOST_ROUNDS + 1)
    return structs.replace(now, evening=structs.replace(now.evening, rounds=rounds))


def _rounds(now: Preferences) -> str:
    rounds = 0 if now.evening is None else now.evening.rounds
    return str(rounds) if rounds else _("as many as people like")


_NOTICES: Final = {
    DesktopNotices.AUTO: N_("in terminals that show them"),
    DesktopNotices.OSC9: "OSC 9",
    DesktopNotices.OSC777: "OSC 777",
    DesktopNotices.NONE: N_("off"),
}
_LAYOUTS: Final = {
    None: N_("laid by the players, at random in a first game"),
    True: N_("laid at random"),
    False: N_("laid by the players"),
}
_WAYS_IN: Final = {
    WaysIn.NONE: N_("with Palatinus alone"),
    WaysIn.WEB: N_("in browsers too"),
    WaysIn.SSH: N_("over ssh too, with nothing installed"),
    WaysIn.BOTH: N_("over ssh and in browsers too"),
}

NOTICES: Final = Row(
    N_("Desktop notifications"),
    N_("A notification on your desktop when it is your turn and you are looking at another window."),
    lambda now: _(_NOTICES[now.notices]),
    _among("notices", tuple(DesktopNotices)),
)
OWN: Final = (
    Row(
        N_("Your name"),
        N_("The name that others see."),
        lambda now: now.name or "",
        prompt=LinePrompt.NAME,
        typed=lambda now: now.name or "",
    ),
    Row(
        N_("Players"),
        N_("How many play in a game against bots, you included."),
        lambda now: str(now.players),
        _among("players", range(2, 6)),
    ),
    Row(
        N_("Tiles"),
        N_("In a game against bots, lay the tiles, or have them laid at random."),
        lambda now: _(_LAYOUTS[now.random_layout]),
        _among("random_layout", tuple(_LAYOUTS)),
    ),
    Row(
        N_("Your people"),
        N_("The people that you play in a game against bots."),
        lambda now: _("whichever is left") if now.people is None else _(PEOPLES[now.people]),
        _among("people", (None, *People)),
    ),
    Row(
        N_("Bots"),
        N_("How strong the bots are."),
        lambda now: describe_level(now.brain),
        _among("brain", tuple(level.name for level in LEVELS)),
        more=lambda now: describe_temper(now.brain),
    ),
    _switch(
        "human_pace",
        N_("Bots move"),
        N_("Have the bots move at once, or take their time like people."),
        on=N_("with some delay"),
        off=N_("at once"),
    ),
    _switch("bell", N_("Bell"), N_("Ring when it is your turn, or not.")),
    _switch("title", N_("Window title"), N_("Show your turn in the window's title, or not.")),
    NOTICES,
)
OF_HOST: Final = (
    Row(
        N_("Others join"),
        N_("How others reach the games that you host."),
        lambda now: _(_WAYS_IN[now.ways_in]),
        _among("ways_in", tuple(WaysIn)),
    ),
    Row(
        N_("Evening"),
        N_("An evening for many: the server decides who plays whom. Type its name, or nothing for none."),
        lambda now: _("no evening") if now.evening is None else now.evening.name,
        prompt=LinePrompt.EVENING,
        typed=lambda now: "" if now.evening is None else now.evening.name,
    ),
    Row(
        N_("Rounds"),
        N_("How many rounds the evening has."),
        _rounds,
        _with_rounds,
        when=lambda now: now.evening is not None,
    ),
    NOTICES,
)
