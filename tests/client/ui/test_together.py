"""Looking at a finished game together: one leads, and the others follow or look for themselves."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path

import pytest

from client.bots.hints import suggest_move
from client.network.connection import open_connection
from client.player.seats import Seats
from client.records import Analyse, Analysis, Recording
from client.ui import requests
from client.ui.game import Client
from client.ui.interaction import Surroundings
from client.ui.led_walk import describe_seen, step_shown
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.playing import Playing
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import Result, Scoring
from client.ui.screens.screen import window_title
from client.ui.seat_keeper import Keeping
from client.ui.state import Ui
from client.ui.visit import Destination, LookingBack, Player, Stay
from past_games.records import recording_of
from protocol.messages import Seen, Show, Shown
from tests.client.scripted import TIMEOUT
from tests.client.ui.analysed import analysis_of
from tests.client.ui.seen import notice_of, screen_of, view_of
from tests.games import rest_slow
from tests.server.peer import Peer, next_state_where
from tests.server.playing import game, memory_server, play_on, rematch


class Watcher:
    """A client at a table where these `peers` have played, without a screen."""

    def __init__(self, client: Client, group: asyncio.TaskGroup, peers: Sequence[Peer]) -> None:
        self.client, self.peers = client, peers
        self.tasks: list[asyncio.Task[None]] = []
        self._group = group
        self._changed = asyncio.Event()
        changed = self._changed.set
        self.shown = client.interaction
        self.shown.start(Surroundings(changed, changed, self._begin))

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        self.tasks.append(self._group.create_task(work))
        return self.tasks[-1]

    async def until(self, seen: Callable[[Ui], bool]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not seen(self.shown.ui):
                self._changed.clear()
                await self._changed.wait()

    async def record(
        self, step: int, *, leads: bool = False, follows: bool = False, leader: str = ""
    ) -> None:
        """Wait until the record is at a step, and led so."""

        def seen(ui: Ui) -> bool:
            page = ui.page
            if not isinstance(page, Replay) or page.company is None:
                return False
            company = page.company
            now = page.step, company.leads, company.follows, company.leader
            return now == (step, leads, follows, leader)

        await self.until(seen)

    async def scoring(self, step: int, company: str) -> None:
        """Wait until the walk through the scoring is at a step, with this company."""
        model = self.client.model

        def seen(ui: Ui) -> bool:
            return isinstance(ui.page, Scoring) and (
                ui.page.step,
                ui.page.stage(model).rpartition(", ")[2],
            ) == (
                step,
                company,
            )

        await self.until(seen)

    @property
    def plays_on(self) -> requests.PlayOn | None:
        request = self.shown.request
        return request if self.shown.over and isinstance(request, requests.PlayOn) else None

    def press(self, *keys: str) -> None:
        for key in keys:
            self.shown.press(key)


@contextlib.asynccontextmanager
async def watching(
    *names: str, seats: Path | None = None, seated_as: str = "", analyse: Analyse | None = None
) -> AsyncIterator[list[Watcher]]:
    """Show the result of a game to spectators with these names; with `seats`, the first one was a player.

    At the table, that player may have been `seated_as` somebody else.
    """
    async with memory_server() as server, game(server.port, 2) as peers, contextlib.AsyncExitStack() as stack:
        await play_on(peers, random.Random(1))
        group = await stack.enter_async_context(asyncio.TaskGroup())
        url, code = f"ws://127.0.0.1:{server.port}", peers[0].code
        first: requests.WatchTable | requests.Join = requests.WatchTable(code)
        watchers = []
        kept = None
        if seats is not None:
            first, kept = requests.Join(code), Seats(seats, url)
            kept.keep(code, 0, seated_as or names[0], peers[0].token, ()).release()
        for name in names:
            connection = await stack.enter_async_context(open_connection(url))
            looking_back = LookingBack(recording_of, None, analyse, plays_on=True)
            player, stay = Player(name, suggest_move, looking_back=looking_back), Stay(first, Keeping(kept))
            watcher = Watcher(Client(player, Destination(url), stay, connection), group, peers)
            await watcher.until(lambda ui: isinstance(ui.page, Result) and not ui.busy)
            watchers.append(watcher)
            first, kept = requests.WatchTable(code), None
        yield watchers
        for watcher in watchers:
            for task in watcher.tasks:
                task.cancel()


async def test_one_leads_and_the_others_follow_or_look_for_themselves() -> None:
    async with watching("Ann", "Bob") as (ann, bob):
        ann.press("f")
        await ann.record(0, leads=True, leader="Ann")
        await bob.until(lambda ui: any("Ann is leading" in line for line in ui.log))
        ann.press("n", "n", "down")
        bob.press("f")
        await bob.record(4, follows=True, leader="Ann")
        bob.press("left")
        await bob.record(3, leader="Ann")
        ann.press("end", "left", "left")
        bob.press("f")
        page = ann.shown.ui.page
        assert isinstance(page, Replay)
        assert page.stop == page.recording.end
        await bob.record(page.step, follows=True, leader="Ann")
        ann.press("end")
        await bob.until(lambda ui: isinstance(ui.page, Replay) and isinstance(ui.page.table, Result))
        ann.press("home")
        await bob.record(0, follows=True, leader="Ann")
        ann.press("escape")
        await ann.until(lambda ui: isinstance(ui.page, Result))
        await bob.record(0)
        bob.press("n", "f")
        await bob.record(1, leads=True, leader="Bob")
        ann.press("f")
        await ann.record(1, follows=True, leader="Bob")
        bob.press("f")
        await bob.record(1)
        await ann.record(1)


async def test_a_player_leads_everybody_through_the_scoring(tmp_path: Path) -> None:
    async with watching("Player 0", "Bob", seats=tmp_path) as (ann, bob):
        revealed = len(view_of(ann.client.model).placed) + 1  # the tiles were drawn
        ann.press("home", "f")
        await ann.scoring(0, "you lead")
        await bob.until(lambda ui: any("Player 0 leads everybody" in line for line in ui.log))
        assert isinstance(bob.shown.ui.page, Result)  # who has seen all of it stays there
        bob.press("f")
        await bob.scoring(0, "you follow Player 0")
        ann.press("enter", "enter")
        await ann.until(lambda _ui: describe_seen(ann.client.model) == ["not yet: Player 1"])
        await bob.scoring(2, "you follow Player 0")
        await ann.peers[1].done(Seen, revealed + 2)
        await ann.until(lambda _ui: describe_seen(ann.client.model) == ("Everybody has seen this.",))
        bob.press("right")
        ann.press("left")
        await bob.until(lambda _ui: step_shown(bob.client.model.state, bob.client.model.view) == 1)
        await bob.scoring(3, "Player 0 leads")
        bob.press("f", "f")
        await bob.scoring(1, "Player 0 leads")
        bob.press("f")
        ann.press("end")
        await bob.until(lambda ui: isinstance(ui.page, Result))
        ann.press("f")  # from the result, into the record
        await ann.record(0, leads=True, leader="Player 0")
        await bob.until(lambda ui: "Player 0 is leading the review. f: follow" in ui.log)
        ann.press("escape")
        await bob.until(lambda ui: "Player 0 has stopped leading." in ui.log)


async def test_the_result_says_where_the_game_turned_once_it_is_analysed(tmp_path: Path) -> None:
    """To the player in the second person, as the review has said it."""

    class Analysed:
        async def __call__(self, recording: Recording, told: Callable[[Analysis], None]) -> str:
            told(analysis_of(recording))
            return ""

        def knows(self, _recording: Recording) -> bool:
            return False

    async with watching("Ann", seats=tmp_path, analyse=Analysed()) as (ann,):
        before = ann.shown.ui.page.words(ann.shown.ui, ann.client.model)
        ann.press("y")
        await ann.until(lambda ui: isinstance(ui.page, Replay) and ui.page.analysis is not None)
        await ann.until(lambda ui: isinstance(ui.page, Replay) and not ui.page.judging)
        turned = notice_of(ann.shown.ui).partition(" won.")[0] + " won."
        assert turned.startswith("The game turned at move")
        ann.press("escape")
        await ann.until(lambda ui: isinstance(ui.page, Result))
        after = ann.shown.ui.page.words(ann.shown.ui, ann.client.model)
        assert [each for each in after if each not in before] == [turned]
        assert turned in " ".join(screen_of(ann.shown.ui, ann.client.model, 200, 50).split())


async def test_who_has_gone_on_alone_is_told_to_have_seen_it(tmp_path: Path) -> None:
    async with watching("Player 0", seats=tmp_path) as (ann,):
        revealed, leader = len(view_of(ann.client.model).placed) + 1, ann.peers[1]
        await leader.done(Show, revealed)
        await next_state_where(leader, lambda state: state.shown == Shown(revealed, 1, seen=[0]))
        ann.press("home")
        await ann.scoring(0, "Player 1 leads")
        await leader.done(Show, revealed + 3)
        shown = Shown(revealed + 3, 1, seen=[0])
        await ann.until(lambda _ui: (state := ann.client.model.state) is not None and state.shown == shown)
        await ann.scoring(0, "Player 1 leads")


async def test_those_who_look_together_can_talk() -> None:
    """What is said in the record is read there, and at the table."""
    async with watching("Ann", "Bob") as (ann, bob):
        bob.press("v")
        await bob.record(0)
        ann.press("f")
        await ann.record(0, leader="Ann", leads=True)
        ann.press("t", *"look at hill D", "enter")
        await bob.until(lambda ui: [each.text for each in ui.talk.remarks] == ["look at hill D"])
        assert bob.shown.ui.talk.unread == 1
        bob.press("T")
        bob.press("escape", "escape")
        await bob.until(lambda ui: isinstance(ui.page, Result))
        assert [each.text for each in bob.shown.ui.talk.remarks] == ["look at hill D"]
        assert bob.shown.ui.talk.unread == 0


async def test_who_plays_on_from_a_moment_leaves_the_table_knowingly() -> None:
    async with watching("Ann", "Bob") as (ann, _bob):
        ann.press("f")
        await ann.record(0, leader="Ann", leads=True)
        ann.press("n", "n", "2", "p")
        assert "leaving this table" in notice_of(ann.shown.ui)
        ann.press("n", "p")
        assert ann.plays_on is None
        ann.press("p")
        assert ann.plays_on is not None
        assert (ann.plays_on.move, ann.plays_on.seat) == (3, 1)


async def test_a_player_opens_a_study_and_others_come_along(tmp_path: Path) -> None:
    """It is told at the table and in its record, and the same key leads there; all know what it is."""
    async with watching("Player 0", "Bob", "Cleo", seats=tmp_path) as (ann, bob, cleo):
        bob.press(":", *"study", "enter")
        await bob.until(lambda ui: ui.notice is not None and "No study" in ui.notice.text)
        for watcher in ann, cleo:
            watcher.press("v")
            await watcher.record(0)
        ann.press("n", "B")
        assert "leaving this table" in notice_of(ann.shown.ui)
        ann.press(":", *"study", "enter")
        opened = "Player 0 opened a study of move 1 at table"
        await bob.until(lambda ui: any(opened in line for line in ui.log))
        await ann.until(lambda ui: isinstance(ui.page, Playing))
        bob.press("home", "B")  # it leads there from every step of the scoring
        await bob.until(lambda ui: isinstance(ui.page, Playing))
        await cleo.until(lambda ui: ui.notice is not None and "close the record" in ui.notice.text)
        for watcher, seat in ((ann, 0), (bob, 1)):
            state = watcher.shown.model.state
            assert watcher.shown.model.seat == seat
            assert state is not None
            assert state.study
            assert not any("B: join" in line for line in watcher.shown.ui.log)
            assert "(a study)" in window_title(watcher.shown.model)


async def test_a_study_gives_players_the_seat_that_they_had(tmp_path: Path) -> None:
    """Even if the player is called something else elsewhere, and another player is to move."""
    async with watching("Ann", seats=tmp_path, seated_as="Player 0") as (ann,):
        ann.press("v")
        await ann.record(0)
        ann.press("n", "n", "n", "B", "B")
        await ann.until(lambda ui: isinstance(ui.page, Playing) and not ui.busy)
        assert (ann.shown.model.seat, ann.shown.ui.name) == (0, "Player 0")
        assert any("You are back in your seat, as Player 0." in line for line in ann.shown.ui.log)
        ann.press(":", *"leave", "enter")
        await ann.until(lambda ui: isinstance(ui.page, LobbyPage) and not ui.busy)
        assert ann.shown.ui.name == "Ann"


async def test_who_has_left_a_finished_game_comes_back_to_its_result(tmp_path: Path) -> None:
    """As the player, whose name nobody else can have there, and as often as wanted."""
    async with watching("Player 0", seats=tmp_path) as (ann,):
        code = ann.peers[0].code
        for _once in range(2):
            ann.press(":", *"leave", "enter")
            await ann.until(lambda ui: isinstance(ui.page, LobbyPage) and not ui.busy)
            ann.press(":", *f"join {code}", "enter")
            await ann.until(lambda ui: isinstance(ui.page, Scoring | Result) and not ui.busy)
            assert ann.shown.model.seat == 0
            assert ann.shown.ui.name == "Player 0"
        ann.press("g")
        await ann.until(lambda ui: isinstance(ui.page, Gathering))
        assert ann.shown.model.seat == 0


@pytest.mark.usefixtures("listed_often")
@pytest.mark.parametrize("place", rest_slow("lobby", "study"))
async def test_who_has_left_a_game_hears_that_the_others_play_again(tmp_path: Path, place: str) -> None:
    """Once, wherever they are; the seat with the others is kept, and the lobby lists it."""
    async with watching("Player 0", seats=tmp_path) as (ann,):
        if place == "study":
            ann.press("v")
            await ann.record(0)
            ann.press("n", "B", "B")
            await ann.until(lambda ui: isinstance(ui.page, Playing) and not ui.busy)
        else:
            ann.press(":", *"leave", "enter")
            await ann.until(lambda ui: isinstance(ui.page, LobbyPage) and not ui.busy)
        await ann.client.hear_of_next_game()
        assert not any("again" in line for line in ann.shown.ui.log)
        code = (await rematch(ann.peers[1])).table
        for _once in range(2):
            await ann.client.hear_of_next_game()
        told = f"Player 1 plays again. Your seat is kept, at table {code} in the lobby."
        assert [line for line in ann.shown.ui.log if "again" in line] == [told]
        if place == "study":
            ann.press(":", *"leave", "enter")
        await ann.until(lambda ui: isinstance(ui.page, LobbyPage) and code in ui.page.kept_seats)
        ann.press(":", *f"join {code}", "enter")
        await ann.until(lambda ui: isinstance(ui.page, Gathering))
        assert ann.shown.model.seat == 0
