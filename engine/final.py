"""Scores a final position given as one line of JSON, to check a game by hand (R5 to R7)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from engine.board import FIELDS, ORIENTATIONS, TILES, Field, LaidTile, Tile, layout_of
from engine.components import DEALS, LAUREL_WORTH, PEOPLES, Laurel
from engine.errors import Explained
from engine.events import Captured, GameEnded, HillScored, ScoringEvent, SoldierFled
from engine.pieces import Kind, Piece, Seat
from engine.scoring import Board, scored

T = TypeVar("T")

_KEYS: Final = ("tiles", "laurels", "players", "board")
_KINDS: Final = {"M": Kind.MERCHANT, "F": Kind.FARMER, "S": Kind.SOLDIER}
# A line gives what laurels are worth, not their names: any token of that worth will do.
_TOKENS: Final = {worth: laurel for laurel, worth in LAUREL_WORTH.items()}


class BadPosition(Explained):
    """The line is not a final position; the sentence says where, and what is allowed."""


def scored_line(line: str) -> str:
    """Return the result of the final position in `line`, both as JSON; raises BadPosition."""
    board, laurels, players = final_position(line)
    return json.dumps(scoring_outcome(scored(board, laurels, players)))


def scoring_outcome(events: Iterable[ScoringEvent]) -> dict[str, Any]:
    """Return the outcome of a scoring, ready for JSON: the result, then what happened hill by hill."""
    hills: dict[str, dict[str, list[Any]]] = {
        tile: {"fled": [], "captured": [], "influence": []} for tile in TILES
    }
    ending = {}
    for event in events:
        match event:
            case SoldierFled():
                hills[event.hill]["fled"].append(event.field)
            case Captured():
                hills[event.hill]["captured"].extend(event.taken)
            case HillScored():
                hill = hills[event.hill]
                hill["fled"].sort()
                hill["captured"].sort()
                hill["influence"].extend(event.influence)
            case GameEnded():
                ending = {
                    "points": [tally.points for tally in event.tallies],
                    "items": [tally.items for tally in event.tallies],
                    "winners": list(event.winners),
                }
    return {**ending, "hills": hills}


def final_position(line: str) -> tuple[Board, dict[Tile, Laurel], int]:
    """Return the board, the laurels and the number of players in `line`; raises BadPosition."""
    content = _object("position", _parse(line), _KEYS)
    players = _one_of("players", content["players"], DEALS)
    layout = layout_of(_tiles(content["tiles"]))
    worths = _object("laurels", content["laurels"], TILES)
    laurels = {tile: _TOKENS[_one_of(f"laurels.{tile}", worths[tile], sorted(_TOKENS))] for tile in TILES}
    pieces, owners = {}, {}
    for name, value in _object("board", content["board"], (), optional=FIELDS).items():
        owner, kind = _pair(f"board.{name}", value, "owner", "kind")
        seat = owners[Field(name)] = Seat(_one_of(f"board.{name}[0]", owner, range(players)))
        letter = _one_of(f"board.{name}[1]", kind, _KINDS)
        pieces[Field(name)] = Piece.of(PEOPLES[seat], _KINDS[letter])  # any people will do
    return Board(layout, pieces, owners), laurels, players


def _tiles(content: Any) -> tuple[LaidTile, ...]:
    if not isinstance(content, list) or len(content) != len(TILES):
        raise BadPosition('tiles: not a list of {n} pairs in position order, like ["C", 0]', n=len(TILES))
    laid: dict[Tile, LaidTile] = {}
    for position, value in enumerate(content):
        letter, orientation = _pair(f"tiles[{position}]", value, "tile", "orientation")
        tile = _one_of(f"tiles[{position}][0]", letter, TILES)
        if tile in laid:
            raise BadPosition("{where}: the tile {tile} appears twice", where=f"tiles[{position}]", tile=tile)
        laid[tile] = LaidTile(tile, _one_of(f"tiles[{position}][1]", orientation, ORIENTATIONS))
    return tuple(laid.values())


# -- JSON, strictly -------------------------------------------------------------------------------


def _parse(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except RecursionError:
        raise BadPosition("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadPosition("it is not JSON from column {column} on", column=error.colno) from error
    except ValueError:
        raise BadPosition("it contains a number with too many digits") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise BadPosition("the key {key} appears twice: write it once", key=_shown(key))
        content[key] = value
    return content


def _no_number(name: str) -> NoReturn:
    raise BadPosition("{number} is not a whole number", number=name)


def _object(where: str, content: Any, keys: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _refusal(where, content, "{...}")
    missing = [key for key in keys if key not in content]
    if missing:
        raise BadPosition("{where}: missing: {keys}", where=where, keys=", ".join(map(_shown, missing)))
    allowed = [*keys, *optional]
    for key in content:
        if key not in allowed:
            raise BadPosition(
                "{where}: there is no key {key}, allowed: {allowed}",
                where=where,
                key=_shown(key),
                allowed=_listed(allowed),
            )
    return content


def _pair(where: str, content: Any, first: str, second: str) -> tuple[Any, Any]:
    if not isinstance(content, list) or len(content) != 2:
        raise _refusal(where, content, f"[{first}, {second}]")
    return content[0], content[1]


def _one_of(where: str, content: Any, allowed: Iterable[T]) -> T:
    """Return the value that `content` is, by type as well: True equals 1."""
    values = list(allowed)
    for value in values:
        if type(content) is type(value) and content == value:
            return value
    raise _refusal(where, content, _listed(values))


def _refusal(where: str, content: Any, allowed: str) -> BadPosition:
    return BadPosition(
        "{where}: found {found}, allowed: {allowed}", where=where, found=_shown(content), allowed=allowed
    )


def _listed(values: Sequence[object]) -> str:
    return f"{values[0]}-{values[-1]}" if len(values) > 5 else ", ".join(map(str, values))


def _shown(content: Any) -> str:
    """Return scalars as JSON, cut short; of containers, which may be of any depth, only the brackets."""
    if isinstance(content, dict | list):
        return "{...}" if isinstance(content, dict) else "[...]"
    shown = json.dumps(content)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
