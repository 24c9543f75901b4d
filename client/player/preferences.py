"""What is remembered from one start to the next: name, servers, set-up of games, how the player is called."""

import contextlib
import enum
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, TypeVar

from msgspec import DecodeError, Meta, Struct, json
from msgspec.structs import replace
from platformdirs import user_state_path

from client.levels import FOR_BEGINNERS
from client.player.seats import write_draft
from client.player.terminal import Calling, DesktopNotices, prefer_calling
from client.typed_text import BadText, login_name, same_server, server_url
from engine.pieces import People
from protocol.admin import EveningPlan
from protocol.messages import Name

_SERVERS_KEPT: Final = 5

Kept = TypeVar("Kept", bound=Struct)


class WaysIn(enum.Enum):
    """How others reach a game that is hosted from the start screen, besides the terminal client."""

    NONE = "none"
    WEB = "web"
    SSH = "ssh"
    BOTH = "both"

    @property
    def web(self) -> bool:
        return self in {WaysIn.WEB, WaysIn.BOTH}

    @property
    def ssh(self) -> bool:
        return self in {WaysIn.SSH, WaysIn.BOTH}


class Preferences(Struct, frozen=True, omit_defaults=True):
    """What is remembered; `servers` are those joined most recently, newest first."""

    name: Name | None = None
    servers: tuple[str, ...] = ()
    players: Annotated[int, Meta(ge=2, le=5)] = 3
    random_layout: bool | None = None  # None: only as long as games are explained
    people: People | None = None
    brain: str = FOR_BEGINNERS
    human_pace: bool = True
    bell: bool = True
    title: bool = True
    notices: DesktopNotices = DesktopNotices.AUTO
    ways_in: WaysIn = WaysIn.BOTH  # friends come with whatever they have
    evening: EveningPlan | None = None  # held by the games that are hosted

    @property
    def calling(self) -> Calling:
        return Calling(self.bell, self.title, self.notices)

    def joined(self, url: str) -> "Preferences":
        others = [each for each in self.servers if same_server(each) != same_server(url)]
        return replace(self, servers=(url, *others)[:_SERVERS_KEPT])


class Clusters(Struct, frozen=True):
    """The hosts between which a player lets servers send them on, those confirmed together side by side."""

    clusters: tuple[tuple[str, ...], ...] = ()

    def hosts_with(self, host: str) -> frozenset[str]:
        """Return all hosts to which a server on this host may send the player."""
        return frozenset(each for cluster in self.clusters if host in cluster for each in cluster)

    def confirmed(self, host: str, others: Iterable[str]) -> "Clusters":
        """Return the clusters after the player has confirmed others for a server on this host."""
        cluster = tuple(sorted({host, *others, *self.hosts_with(host)}))
        rest = [each for each in self.clusters if host not in each]
        return Clusters((cluster, *rest)[:_SERVERS_KEPT])


class Explanations(Struct, frozen=True):
    """What is explained as it happens: all that is new in a first game, and how tiles are laid.

    The first is `wanted` until that game is over, the second until tiles have been laid; or until the player
    stops both.
    """

    wanted: bool = True
    laying: bool = True


def preferences_file() -> Path:
    return user_state_path("palatinus", appauthor=False) / "preferences.json"


def clusters_file() -> Path:
    """Return where the hosts are kept that this user has confirmed."""
    return preferences_file().with_name("clusters.json")


def explanations_file() -> Path:
    return preferences_file().with_name("explanations.json")


def explanations() -> Explanations:
    """Return what is still explained to the player."""
    return kept_in(explanations_file(), Explanations) or Explanations()


def at_random(chosen: bool | None) -> bool:
    """Return whether to have the tiles laid at random: where one is best is hard to say for a newcomer."""
    return explanations().wanted if chosen is None else chosen


def kept_in(path: Path, kind: type[Kept], most_bytes: int = 16 * 1024) -> Kept | None:
    """Return what `remember` has kept in a file; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return json.decode(file.read(most_bytes), type=kind)
    except (OSError, DecodeError):
        return None


def read_preferences(path: Path) -> Preferences | None:
    """Return what is remembered; None at the first start, or if it cannot be read."""
    found = kept_in(path, Preferences)
    if found is None:
        return None
    addresses = []
    for each in found.servers:
        with contextlib.suppress(BadText):
            server_url(each)
            addresses.append(each)
    return replace(found, servers=tuple(addresses))


def remember(path: Path, kept: Struct) -> None:
    """Keep preferences and the like, readable by their user alone; if that fails, the old ones stay."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_draft(path, kept).replace(path)


def prefer_as_remembered() -> Preferences | None:
    """Return all that is remembered; call the player as it says, unless the options say otherwise."""
    known = read_preferences(preferences_file())
    if known is not None:
        prefer_calling(known.calling)
    return known


def name_of_player(given: str | None) -> str:
    """Return the player's name: the one given, or the one chosen on the start screen."""
    known = read_preferences(preferences_file())
    return given or (known and known.name) or login_name()
