"""What all browsers at one place see: drawn once for each language, and sent to each when it is ready."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import structs
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State

from pages.shared import MoveChoice
from protocol import codes
from protocol.codec import BadMessage, as_json, client_message, decode_json, news_in, readable
from protocol.messages import (
    ClientMessage,
    EnterLobby,
    Moved,
    News,
    Notices,
    Planned,
    PlanPlayed,
    Refused,
    ServerMessage,
)
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.net.session import Session, payload_of
from server.probes import probe

log = logging.getLogger(__name__)


Parts: TypeAlias = Mapping[str, str]  # HTML, by the ids of the elements of the page that it belongs into
_TOLD: Final = "told"  # no element: what the server tells
MOVED: Final = "moved"  # no element: where the page goes on, at another server or the next table
Drawn: TypeAlias = tuple[Parts, float | None]  # and in how many seconds the next step is due
Draw: TypeAlias = Callable[[Callable[[], Drawn]], Awaitable[Drawn]]  # calls it when it is its turn
_NOTHING: Final[Parts] = {}
_SECONDS_BETWEEN_DRAWINGS: Final = 0.25  # whatever changes faster is drawn together
_SECONDS_BETWEEN_TRIES: Final = 1.0  # to send to a browser that has not taken what was sent before
_SECONDS_OF_SILENCE: Final = 10.0  # after which browsers are sent something, or they take the line for dead


def page_frame(parts: Parts) -> bytes:
    """Return a websocket frame for any number of readers."""
    return _text_frame(msgspec.json.encode(parts))


def _text_frame(content: bytes) -> bytes:
    return Frame(Opcode.TEXT, content).serialize(mask=False)


_NO_NEWS: Final = page_frame(_NOTHING)


class PageSession(Session):
    """A spectator that takes a table's messages as a sign that the table has changed, and reads none."""

    def __init__(self, *args: Any, page_at: Callable[[str], str] = str) -> None:
        super().__init__(*args)
        self.client = "web page"
        self.sent_away = False
        self.closing = False
        self.changed: Callable[[], None] = lambda: None  # a page that it is not at yet
        self._page_at = page_at

    def send(self, message: ServerMessage) -> None:
        if isinstance(message, Moved):
            self.show(page_frame({MOVED: self._page_at(message.address)}))
            probe("a page is sent to another server")
        elif isinstance(message, Refused) and message.id is None:
            self.sent_away = True
        self.changed()

    def post(self, frame: bytes) -> None:
        del frame
        self.changed()

    def close(self, code: codes.CloseCode, reason: codes.CloseReason) -> None:
        self.closing = True
        super().close(code, reason)

    def show(self, frame: bytes) -> bool:
        """Hand a frame to the network, unless an earlier one is still on its way; return whether it went."""
        transport = self.connection.transport
        if self.connection.protocol.state is not State.OPEN or transport.is_closing():
            return True  # nothing will be on its way any more
        if transport.get_write_buffer_size() > 0:
            probe("a browser has not read what was sent before")
            return False
        transport.write(frame)
        return True

    def end(self, code: CloseCode, parts: Parts = _NOTHING) -> None:
        """Show the last parts of a page, if any, and start the closing handshake without waiting for it."""
        if parts:
            self.show(page_frame(parts))
        self._clients.tasks.start(self.connection.close(code), "closing a connection")


class PlayerSession(PageSession):
    """A player in a browser: a client like any other, whose page is also shown what its seat may see.

    `choice` is what the player has chosen for the next move, which the server draws and does not carry out,
    and `notices` is where the player is called while away. A player who `wants_hint` has just asked for one.
    The player's last move may be `plan_played`, from a plan.
    """

    def __init__(
        self,
        *args: Any,
        refusal: Callable[[Refused], Parts],
        news: Callable[[News], str],
        device: Callable[[str], Awaitable[str]],
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._refusal, self._news, self._device = refusal, news, device
        self.choice = MoveChoice()
        self.wants_hint = False
        self.notices = Notices("none")
        self.plan_played: PlanPlayed | None = None
        self._tries: int | None = None  # a request of the page, not of its player

    def send(self, message: ServerMessage) -> None:
        if isinstance(message, Notices):
            self.notices = message
        elif isinstance(message, Planned):
            self.plan_played = message.played
        Session.send(self, message)
        by_page = isinstance(message, Refused) and (
            message.code is codes.Code.NOT_SIGNED_UP or (message.id is not None and message.id == self._tries)
        )
        if isinstance(message, Refused) and not by_page:
            Session.post(self, page_frame(self._refusal(message)))

    def post(self, frame: bytes) -> None:
        payload = payload_of(frame)
        news = news_in(payload)
        told = _text_frame(as_json(payload)) if news is None else page_frame({_TOLD: self._news(news)})
        Session.post(self, told)
        self.changed()

    def read_text(self, text: str) -> ClientMessage | None:
        content = decode_json(text)
        if "t" in content:
            asked = client_message(content)
            if isinstance(asked, EnterLobby):
                self._tries = asked.id
            return asked
        try:
            chosen = msgspec.convert(content, MoveChoice)
        except msgspec.ValidationError as error:
            raise BadMessage(readable(error)) from error
        news = {name: value for name, value in structs.asdict(chosen).items() if value is not None}
        if (place := news.pop("device", None)) is not None:
            self._clients.tasks.start(self._show_device(place), "showing a way to another device")
            return None
        self.wants_hint = bool(news.pop("hint", False))
        self.choice = structs.replace(self.choice, **news)
        probe("a player at a page chooses")
        self.changed()
        return None

    async def _show_device(self, place: str) -> None:
        Session.post(self, page_frame({"device": await self._device(place)}))
        probe("a player at a page goes to another device")


@dataclass(frozen=True, slots=True)
class Sight:
    """Something to be drawn; two with the same `key` look alike. `draw` runs in a thread.

    The next automatic change is due this long after the page was first seen at this `step`. `look_again` is
    in how many seconds to look even if nothing that the page is told of has changed.
    """

    key: object
    step: object
    draw: Callable[[str], Drawn]
    look_again: float | None = None


class PageSubject(Protocol):
    """What a page is about."""

    def sight(self) -> Sight | None:
        """Return how it looks now, None if there is nothing to be seen any more."""

    def advance(self) -> None:
        """Go on to the next step."""


@dataclass(slots=True)
class _Viewer:
    """A browser's language, and the parts that it has been sent."""

    language: str
    has: Parts


@dataclass(eq=False, repr=False)
class LivePage:
    """A page that goes on as its subject does, as long as there is somebody to see it.

    It is never `silent` for long, unless its browsers can ask.
    """

    name: str  # in the log
    subject: PageSubject
    tasks: Tasks
    draw: Draw
    gone: Callable[[str], Parts]
    silent: bool = False

    def __post_init__(self) -> None:
        self.users = 0  # browsers that are at it, or about to be
        self._viewers: dict[PageSession, _Viewer] = {}
        self._changed = asyncio.Event()
        self._key: object = None
        self._drawn: dict[str, Drawn] = {}  # by language, of the sight with that key
        self._step: object = None
        self._step_due: float | None = None
        self._look_again: float | None = None
        self._speak_at = 0.0

    @contextlib.contextmanager
    def keep_up_to_date(self) -> Iterator["LivePage"]:
        """Keep the page up to date until the context ends."""
        if not self.users:
            self._running = self.tasks.keep(self._run, "drawing a page")
        self.users += 1
        try:
            yield self
        finally:
            self.users -= 1
            if not self.users:
                self._running.cancel()
                del self._running  # it will remember where it was cancelled, and thus this page

    def add(self, session: PageSession, language: str) -> None:
        """Show the page to one more browser."""
        self._viewers[session] = _Viewer(language, _NOTHING)
        session.changed = self._changed.set
        self._changed.set()

    def remove(self, session: PageSession) -> None:
        self._viewers.pop(session, None)

    async def draw_in(self, languages: Set[str], sight: Sight, draw: Draw) -> Mapping[str, Drawn]:
        """Return how `sight` looks in at least these languages; `draw` draws what has not been drawn yet."""
        if sight.key != self._key:
            self._drawn, self._key = {}, sight.key
        drawn = self._drawn
        for language in languages - drawn.keys():
            drawn[language] = await draw(partial(sight.draw, language))
        return drawn

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                all_sent = await self._show()
            except Exception:  # an error in one drawing must not stop the server
                probe("a page cannot be drawn")
                log.exception("page not drawn", extra=about(page=self.name))
                self._send_away(CloseCode.INTERNAL_ERROR)
                all_sent = True
            await asyncio.sleep(_SECONDS_BETWEEN_DRAWINGS)
            await self._wait(all_sent=all_sent)

    async def _wait(self, *, all_sent: bool) -> None:
        """Wait until something may have changed, the next step is due, or a slow browser may be ready."""
        now = asyncio.get_running_loop().time
        due = [] if all_sent else [now() + _SECONDS_BETWEEN_TRIES]
        if self._look_again is not None:
            due.append(now() + self._look_again)
        if self._step_due is not None:
            due.append(self._step_due)
        if not self.silent:
            due.append(self._speak_at)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min(due, default=None)):
                await self._changed.wait()
        if self._step_due is not None and now() >= self._step_due:
            self._step_due = None
            self.subject.advance()

    async def _show(self) -> bool:
        """Draw what has changed and send it; return whether everybody has it now."""
        sight = self.subject.sight()
        if sight is None:
            self._send_away(CloseCode.NORMAL_CLOSURE)
            return True
        self._look_again = sight.look_again
        drawn = await self.draw_in({viewer.language for viewer in self._viewers.values()}, sight, self.draw)
        if sight.step != self._step and drawn:
            self._step = sight.step
            _parts, seconds = next(iter(drawn.values()))
            now = asyncio.get_running_loop().time()
            self._step_due = None if seconds is None else now + seconds
        return self._send(drawn)

    def _send(self, drawn: Mapping[str, Drawn]) -> bool:
        """Send every browser what it lacks; return whether all were ready for it."""
        frames: dict[tuple[str, int], bytes] = {}  # those who have the same are sent the same
        all_sent = True
        speaks = not self.silent and asyncio.get_running_loop().time() >= self._speak_at
        if speaks:
            self._speak_at = asyncio.get_running_loop().time() + _SECONDS_OF_SILENCE
        for session, viewer in list(self._viewers.items()):
            if session.sent_away:
                probe("a browser is sent away from a table")
                self._end(session, viewer, CloseCode.NORMAL_CLOSURE)
            elif viewer.language in drawn:  # otherwise it came while the others' languages were drawn
                parts, _seconds = drawn[viewer.language]
                if parts is viewer.has:
                    if speaks:
                        session.show(_NO_NEWS)
                    continue
                known = (viewer.language, id(viewer.has))
                if known not in frames:
                    news = {part: inside for part, inside in parts.items() if viewer.has.get(part) != inside}
                    frames[known] = page_frame(news) if news else b""
                if not frames[known] or session.show(frames[known]):
                    viewer.has = parts
                else:
                    all_sent = False
                    probe("a browser is not ready for a page")
        return all_sent

    def _send_away(self, code: CloseCode) -> None:
        for session, viewer in list(self._viewers.items()):
            self._end(session, viewer, code)

    def _end(self, session: PageSession, viewer: _Viewer, code: CloseCode) -> None:
        self.remove(session)
        if session.closing:  # it was told where to go, or to come again
            return
        session.end(code, self.gone(viewer.language) if code is CloseCode.NORMAL_CLOSURE else _NOTHING)
