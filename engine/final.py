"""Scores a final position given as one line of JSON, to check a game by hand (R5 to R7)."""

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from engine.board import FIELDS, ORIENTATIONS, TILES, Field, LaidTile, Tile, layout_of
from engine.components import DEALS, LAUREL_WORTH, PEOPLES, Laurel
from engine.events import Captured, GameEnded, HillScored, ScoringEvent, SoldierFled
from engine.pieces import Kind, Piece, Seat
from engine.scoring import Board, scored

_KEYS: Final = ("tiles", "laurels", "players", "board")
_KINDS: Final = {"M": Kind.MERCHANT, "F": Kind.FARMER, "S": Kind.SOLDIER}
# A line gives what laurels are worth, not their names: any token of that worth will do.
_TOKENS: Final = {worth: laurel for laurel, worth in LAUREL_WORTH.items()}


class BadPosition(ValueError):
    """The line is not a final position; the text says where, what is wrong, and what is allowed."""


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
    content = _object("the position", _parsed(line), _KEYS)
    players = _integer("players", content["players"], DEALS)
    layout = layout_of(_tiles(content["tiles"]))
    worths = _object("laurels", content["laurels"], TILES)
    laurels = {tile: _TOKENS[_integer(f"laurels.{tile}", worths[tile], sorted(_TOKENS))] for tile in TILES}
    pieces, owners = {}, {}
    for name, value in _object("board", content["board"], (), optional=FIELDS).items():
        owner, kind = _pair(f"board.{name}", value, "owner", "kind")
        seat = _integer(f"the owner in board.{name}", owner, range(players))
        letter = _word(f"the kind in board.{name}", kind, _KINDS)
        owners[Field(name)] = Seat(seat)
        pieces[Field(name)] = Piece.of(PEOPLES[seat], _KINDS[letter])  # any people will do
    return Board(layout, pieces, owners), laurels, players


def _tiles(content: Any) -> tuple[LaidTile, ...]:
    if not isinstance(content, list) or len(content) != len(TILES):
        found = f"{len(content)} entries" if isinstance(content, list) else _shown(content)
        _refuse("tiles", found, f'a list of {len(TILES)} pairs in position order, like ["C", 0]')
    laid: dict[str, LaidTile] = {}
    for position, value in enumerate(content):
        letter, orientation = _pair(f"tiles[{position}]", value, "tile", "orientation")
        tile = _word(f"the tile in tiles[{position}]", letter, TILES)
        if tile in laid:
            _refuse(f"the tile in tiles[{position}]", f"{_shown(tile)} again", "every tile once")
        turns = _integer(f"the orientation in tiles[{position}]", orientation, ORIENTATIONS)
        laid[tile] = LaidTile(Tile(tile), turns)
    return tuple(laid.values())


# -- JSON, strictly -------------------------------------------------------------------------------


def _parsed(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except BadPosition:
        raise
    except RecursionError:
        raise BadPosition("not a position: it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise BadPosition(f"not JSON: {error}") from error
    except ValueError:
        raise BadPosition("a number in it has too many digits") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise BadPosition(f"the key {_shown(key)} appears twice in one object; write it once")
        content[key] = value
    return content


def _no_number(name: str) -> NoReturn:
    raise BadPosition(f"{name} is not a JSON number; only whole numbers are allowed")


def _object(where: str, content: Any, keys: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    if not isinstance(content, dict):
        _refuse(where, _shown(content), "an object")
    missing = [key for key in keys if key not in content]
    if missing:
        raise BadPosition(f"{where}: {', '.join(map(_shown, missing))} missing")
    allowed = [*keys, *optional]
    for key in content:
        if key not in allowed:
            _refuse(where, f"the unknown key {_shown(key)}", _listed(allowed))
    return content


def _pair(where: str, content: Any, first: str, second: str) -> tuple[Any, Any]:
    if not isinstance(content, list) or len(content) != 2:
        _refuse(where, _shown(content), f"a pair [{first}, {second}]")
    return content[0], content[1]


def _integer(where: str, content: Any, allowed: Iterable[int]) -> int:
    if type(content) is not int or content not in allowed:  # by type: True is an int to isinstance
        _refuse(where, _shown(content), _listed(allowed))
    return content


def _word(where: str, content: Any, allowed: Iterable[str]) -> str:
    if not isinstance(content, str) or content not in allowed:
        _refuse(where, _shown(content), _listed(allowed))
    return content


def _refuse(where: str, found: str, allowed: str) -> NoReturn:
    raise BadPosition(f"{where}: found {found}, allowed: {allowed}")


def _listed(allowed: Iterable[int | str]) -> str:
    values = list(allowed)
    return f"{values[0]} to {values[-1]}" if len(values) > 5 else ", ".join(map(str, values))


def _shown(content: Any) -> str:
    """Return scalars as JSON, cut short; containers only by name, since they may be of any depth."""
    if isinstance(content, dict | list):
        return "an object" if isinstance(content, dict) else "a list"
    shown = json.dumps(content)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
