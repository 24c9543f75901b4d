"""The record of a table's finished game, through which somebody there may lead the others."""

from dataclasses import replace

from client.language import _
from client.network.connection import Connection
from client.network.transport import ConnectFailed, RequestRefused
from client.records import Recording
from client.ui.interaction import Interaction
from client.ui.keys import Act
from client.ui.led_walk import leads
from client.ui.program import Replaying
from client.ui.requests import Errand, PlayOn, Request, Review
from client.ui.screens.overlays import TalkPage
from client.ui.screens.replay import Companions, Replay, describe_turning, in_company, on_own_way
from client.ui.screens.scoring import Result
from client.ui.state import Ui
from client.ui.texts.tables import describe_study, who_leads
from client.ui.visit import LookingBack
from engine.pieces import Seat
from protocol.messages import NEW, Say, Show, Shown, Study


class Together(Replaying):
    """The record at the table of a visit; with a `connection`, others may look at it together.

    If the `review` is together, the player leads at once, or follows.
    """

    def __init__(
        self,
        recording: Recording,
        connection: Connection | None,
        looking_back: LookingBack,
        review: Review,
        own: Seat | None,
    ) -> None:
        analysing, plays_on = looking_back.analyse, looking_back.plays_on
        eyes, analysed = recording.all_eyes, review.analysed
        super().__init__(recording, 0, eyes, analysing, own=own, analysed=analysed, plays_on=plays_on)
        self._connection, self._joins = connection, review.together
        self._leaves_for: PlayOn | Study | None = None
        state = None if connection is None else connection.model.state
        self._studied = None if state is None else state.studied
        self._led_as: Shown | None = None  # what the table showed when this client had begun to lead
        if connection is not None and leads(connection.model) and state is not None:
            self._led_as = state.shown  # through the scoring
        self._at: int | None = None  # the step that the others were told last
        self._telling = False

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        self.look()
        if self._joins and self._connection is not None and not self._leads:
            interaction.act(Act.TOGETHER)

    def look(self) -> None:
        """Update the leader, the step, the study and the read position from the table."""
        if self._connection is None or self.interaction.service is not self:
            return
        page = self.ui.page
        if not isinstance(page, Replay):
            return
        state = self._connection.model.state
        company = Companions() if page.company is None else page.company
        if state is None or (shown := state.shown) is None:
            company = Companions()
        else:
            own, leader = self._led_as, who_leads(state)
            leads = own is not None and (own.seat, own.spectator) == (shown.seat, shown.spectator)
            follows = company.follows and not leads and leader == company.leader
            company = Companions(leader, shown.step, leads, follows)
        if state is not None and state.studied is not None and state.studied != self._studied:
            self._studied = state.studied
            form = _(
                "{name} opened a study of move {step} at table {table}. To join, close the record and press B"
            )
            self.show(self.ui.with_notice(describe_study(state.studied, state, form)))
        if company != page.company:
            self.show(in_company(self.ui, company))
        if isinstance(self.ui.overlay, TalkPage) and self.ui.talk.unread:
            self.show(replace(self.ui, talk=replace(self.ui.talk, unread=0)))

    def settled(self, ui: Ui) -> Ui:
        ui = super().settled(on_own_way(ui))
        if self._leads and not self._telling:
            self._telling = True
            self.begin(self._tell())
        return ui

    def closed(self, ui: Ui) -> Ui:
        """Return the state without the record; the result below it says at which move the game turned."""
        page, below = ui.page, super().closed(ui)
        if not isinstance(page, Replay) or not isinstance(below.page, Result):
            return below
        return below.with_page(replace(below.page, turned=describe_turning(page)))

    def carry_out(self, request: Request) -> None:
        if isinstance(request, Show | Say):
            self.begin(self._ask(request))
            return
        if request in (Errand.QUIT, Errand.GO_HOME) and self._leads:
            self.interaction.begin(self._ask(Show(NEW)))
        at_table = self._connection is not None
        if at_table and isinstance(request, PlayOn | Study) and request != self._leaves_for:
            self._leaves_for = request
            told = _("Playing on means leaving this table. Press again to leave and play on from here.")
            self.show(self.ui.with_notice(told))
            return
        super().carry_out(request)

    @property
    def _leads(self) -> bool:
        page = self.ui.page
        return isinstance(page, Replay) and page.company is not None and page.company.leads

    async def _tell(self) -> None:
        """Tell the others where this player is, until they know."""
        while isinstance(page := self.ui.page, Replay) and self._leads and page.step != self._at:
            await self._ask(Show(NEW, page.step))
        self._telling = False

    async def _ask(self, request: Show | Say) -> None:
        assert self._connection is not None  # noqa: S101 - without one, nobody has company
        leads = isinstance(request, Show)
        if isinstance(request, Show):
            self._at = request.step
        try:
            await self._connection.ask(request)
        except (RequestRefused, ConnectFailed) as failure:
            if self.left:
                return
            self._led_as = None if leads else self._led_as
            self.show(self.ui.with_notice(str(failure), refusal=True))
        else:
            state = self._connection.model.state
            if leads:
                self._led_as = None if state is None else state.shown
        self.look()
