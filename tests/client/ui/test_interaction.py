"""One stack of screens: a record covers the table where it was played, and each carries out its requests."""

import asyncio
import io
from dataclasses import replace
from typing import ClassVar

import pytest

from client.tables.table import HeardRemark
from client.ui.interaction import Interaction, Service, StandaloneService
from client.ui.keys import Act
from client.ui.lines import LineShell
from client.ui.program import Replaying
from client.ui.requests import Errand, PlayOn, Request, Review
from client.ui.screens.news import after_update
from client.ui.screens.overlays import Announcements, TalkPage
from client.ui.screens.reading import Reading
from client.ui.screens.replay import Companions, Replay, in_company, open_record
from client.ui.screens.scoring import Result
from client.ui.state import FinishedGames, Notice, TypedLine, Ui
from client.ui.terminal.device import OwnLines
from engine.pieces import Seat
from protocol.messages import Announced
from tests.client.ui.analysed import recording_of
from tests.client.ui.seen import over, screen_of

RECORDING = recording_of(3)


class Table(Service):
    """The table of a finished game, and its record."""

    def __init__(self) -> None:
        ui, model = over()
        super().__init__(replace(ui.with_page(Result()), finished_games=FinishedGames()), model)
        self.asked: list[Request] = []

    def carry_out(self, request: Request) -> None:
        self.asked.append(request)
        self.show(replace(self.ui, busy=False))
        if isinstance(request, Review):
            everything = RECORDING.all_eyes
            self.open(Replaying(RECORDING, 0, everything, None, plays_on=True))


def press(shown: Interaction, *keys: str) -> Ui:
    for key in keys:
        shown.press(key)
    return shown.ui


def test_news_of_the_table_leave_the_record_above_it_alone() -> None:
    """They are there when it is closed; the line being typed in it stays, and so does what it says."""
    table = Table()
    shown = table.interaction
    press(shown, "v", "right")
    record = shown.ui.page
    press(shown, ":", *"go 1")
    shown.show(shown.ui.with_notice("read this"))
    for news in HeardRemark(Seat(1), "well played"), Announced("We stop at ten."):
        table.show(after_update(table.ui, news, table.model))
    ui = shown.ui
    assert (ui.page, ui.overlays) == (record, ())
    assert ui.entry is not None
    assert (ui.entry.text, ui.notice and ui.notice.text) == ("go 1", "read this")
    assert [each.text for each in ui.talk.remarks] == ["well played"]
    ui = press(shown, "2", "enter")
    assert isinstance(ui.page, Replay)
    assert ui.page.stop == 12
    ui = press(shown, "escape")
    assert (ui.page, ui.overlays) == (Result(), (Announcements(("We stop at ten.",)),))
    assert "We stop at ten." in ui.log[-1]


def test_what_is_said_at_the_table_is_read_in_its_record() -> None:
    table = Table()
    shown = table.interaction
    press(shown, "v")
    table.show(after_update(table.ui, HeardRemark(Seat(1), "well played"), table.model))
    shown.show(shown.ui.opened(TalkPage()))
    screen = screen_of(shown.ui, shown.model)
    assert "SAID AT THE TABLE" in screen
    assert "well played" in screen
    assert isinstance(press(shown, "escape").page, Replay)
    assert press(shown, "escape").page == Result()


@pytest.mark.parametrize("key", ["q", "escape", "c-c"])
def test_leaving_a_record_leads_back_to_the_table(key: str) -> None:
    """Nothing is asked there: the visit goes on."""
    shown = Table().interaction
    press(shown, "v", "right")
    model = shown.model
    ui = press(shown, key)
    assert (ui.screens, shown.over) == ((Result(),), False)
    assert shown.model is not model


def test_what_a_record_cannot_do_is_asked_of_the_table() -> None:
    table = Table()
    shown = table.interaction
    press(shown, "v", "right", "right", "p")
    assert isinstance(shown.ui.page, Result)
    assert [type(each) for each in table.asked] == [Review, PlayOn]


def test_a_record_alone_ends_with_what_is_asked_for() -> None:
    for key, wanted in (("escape", Errand), ("p", PlayOn)):
        shown = Replaying(RECORDING, 3, RECORDING.all_eyes, None, plays_on=True).interaction
        press(shown, key)
        assert shown.over
        assert isinstance(shown.request, wanted)


async def test_a_table_is_not_told_again_after_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    """In text mode, each page is printed once, and so are the remarks at the table."""

    class Typed(OwnLines):
        left: ClassVar = ["quit", "next", "review"]

        async def line(self, **_how: bool) -> str | None:
            return self.left.pop() if self.left else None

    table = Table()
    table.show(after_update(table.ui, HeardRemark(Seat(1), "well played"), table.model))
    result, *_others = Result().words(table.ui, table.model)
    await LineShell(table.interaction, Typed(io.StringIO())).run()
    told = capsys.readouterr().out
    assert table.interaction.ui.screens == (Result(),)
    assert "move 1 of" in told
    assert (told.count(result), told.count("well played")) == (1, 1)


def test_who_follows_to_the_scoring_can_go_on_typing_and_reading() -> None:
    """What the leader does closes nothing that is open over the record."""
    opened = open_record(RECORDING, 0, RECORDING.all_eyes).opened(Reading(Act.HELP))
    ui = replace(opened, entry=TypedLine().filled("go 1"))
    there = in_company(ui, Companions("Bob", RECORDING.end, follows=True))
    assert isinstance(there.page, Replay)
    assert there.page.stop == RECORDING.end
    assert (there.overlay, there.entry) == (ui.overlay, ui.entry)


class Elsewhere(StandaloneService):
    """A page with a state of its own, and the work of its service."""

    def __init__(self, name: str) -> None:
        super().__init__(Ui(name, screens=(Result(),), log=("Elsewhere it rains.",)))
        self.stopped = asyncio.Event()

    async def work(self, failure: Exception | None) -> None:
        if failure is not None:
            raise failure
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


async def test_a_page_with_a_state_of_its_own_is_opened_and_closed() -> None:
    """It is seen until its opener goes on; its work ends with it, and what was said below is there again."""
    table = Table()
    shown, below = table.interaction, table.interaction.ui
    there = Elsewhere("Bob")
    opening = asyncio.create_task(table.shown(there))
    await asyncio.sleep(0)
    there.begin(there.work(None))
    await asyncio.sleep(0)
    assert (shown.ui.name, shown.ui.log, len(shown.ui.pages)) == ("Bob", ("Elsewhere it rains.",), 2)
    assert shown.ui.way_back is Errand.GO_HOME
    table.call("Palatinus", "Ann is back.")
    assert shown.ui.notice == Notice("Ann is back.")
    there.carry_out(Errand.PLAY)
    assert await opening is Errand.PLAY
    assert there.stopped.is_set()
    assert (shown.ui.name, shown.ui.busy, shown.over) == ("Bob", True, False)
    shown.press("q")  # which nobody carries out there any more
    assert table.asked == []
    shown.back_to(table)
    assert replace(shown.ui, today=below.today) == below


async def test_a_page_whose_work_fails_takes_nothing_else_along() -> None:
    table = Table()
    there = Elsewhere("Bob")
    opening = asyncio.create_task(table.shown(there))
    await asyncio.sleep(0)
    there.begin(there.work(OSError("no room")))
    with pytest.raises(ExceptionGroup) as failed:
        await opening
    assert failed.group_contains(OSError, match="no room")
    table.interaction.back_to(table)
    assert table.interaction.ui.page == Result()
    assert not table.interaction.over


async def test_quitting_anywhere_leaves_every_page() -> None:
    table = Table()
    there = Elsewhere("Bob")
    opening = asyncio.create_task(table.shown(there))
    await asyncio.sleep(0)
    there.carry_out(Errand.QUIT)
    assert table.interaction.over
    await table.interaction.finish(by_player=True)
    assert await opening is Errand.QUIT
