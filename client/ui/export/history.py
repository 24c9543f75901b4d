"""Finished games and standings, as text."""

from collections.abc import Iterable, Sequence

from client.language import _
from client.records.past_games import PastGame
from client.ui.draw.lines import columns
from client.ui.texts.scoring import describe_points
from client.ui.texts.times import local_time
from protocol.messages import Standing


def games_listing(games: Sequence[PastGame]) -> list[str]:
    """Return a heading and a numbered line for each game, or one line that says that there are none."""
    if not games:
        return [_("No finished games are kept here.")]
    heading = ("#", _("ENDED"), _("TABLE"), _("PLAYERS AND POINTS"))
    return columns(
        [
            heading,
            *(
                (str(number), local_time(game.ended), game.table, describe_points(game))
                for number, game in enumerate(games, start=1)
            ),
        ]
    )


def standings_listing(standings: Iterable[tuple[str, Standing]]) -> list[str]:
    """Return a heading and a line for each player, or one line that says that there are none."""
    rows = [(name, str(each.games), str(each.wins), str(each.points)) for name, each in standings]
    if not rows:
        return [_("No finished games are kept here.")]
    return columns([(_("PLAYER"), _("GAMES"), _("WINS"), _("POINTS")), *rows])
