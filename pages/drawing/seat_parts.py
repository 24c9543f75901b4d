"""What a player's page has beside the table: the hand, what a piece would give, and what can be asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import msgspec
from markupsafe import Markup

from client.language import _, current_language, labelled
from client.levels import usual_level
from client.reasons import aim_of, reason_for
from client.records import Suggestion
from client.tables.table import TableModel, open_request
from client.ui import at_table
from client.ui.at_table import HEX_POSITIONS
from client.ui.frame import WIDE, spoken
from client.ui.keys import COUNTS
from client.ui.leads import describe_foreseen
from client.ui.screens.action import Action, May
from client.ui.screens.actions import (
    AGAIN,
    CALLED,
    INVITE,
    LEAVE,
    MENU,
    MUTE,
    NOTIFY,
    PAUSE_UNTIL,
    READY,
    SEAT_BOT,
    SIGN,
    START,
    describe_addresses,
)
from client.ui.screens.menu import At, Page
from client.ui.screens.planning import page_of, plan_request, with_plan
from client.ui.screens.reading import counts_page
from client.ui.spots import Marks
from client.ui.state import Offers, OnlineList, TypedLine, Ui
from client.ui.texts.advice import Advice, describe_suggestion
from client.ui.texts.games import describe_who_plays_again, turned
from client.ui.texts.pieces import kind_words, piece_sign, piece_words
from client.ui.texts.plans import describe_plan, describe_plans, describe_played
from client.ui.texts.tables import (
    describe_answers,
    describe_asked,
    describe_guests,
    describe_lead,
    describe_notices,
    names_at,
    who_leads,
)
from client.ui.texts.times import universal_time
from engine.board import Field, Hex
from engine.events import LayTile
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece
from engine.view import Phase, View
from pages.drawing.html import EMPTY, element, join, qr_code
from pages.shared import MoveChoice, PlayerHand
from protocol import messages
from protocol.limits import ADDRESS_LENGTH, MOST_PLANS, NOTICE_CODE_LENGTH
from protocol.messages import NEW
from protocol.pages import EVENING

_ELSEWHERE: Final = MUTE, SIGN  # or not in browsers


class SeatPage:
    """A table as the player of a seat is shown it; `model` is what a client in a terminal would know."""

    def __init__(self, state: messages.TableState, view: View | None, hand: PlayerHand) -> None:
        self.model = TableModel(state.table, hand.seat, state=state, view=view, legal=hand.legal)
        self.model.notices, self.model.plans = hand.notices, tuple(hand.plans)
        self._plan_played = hand.plan_played
        self._state, self._view, self._hints, self._suggested = state, view, hand.hints, hand.suggested
        self._back, self._of_evening = hand.moment is not None, hand.of_evening
        self._address = hand.address
        offers = Offers(tuple(hand.levels), tuple(hand.kinds), invitations=bool(hand.guests))
        self._ui = Ui("", offers=offers, company=OnlineList(tuple(hand.guests)))
        chosen = hand.choice
        fields = {} if view is None else view.layout.fields
        self._free = {cell: field for cell, field in fields.items() if view and field not in view.placed}
        self._cell = next((cell for cell, field in self._free.items() if field == chosen.field), None)
        self._selection = at_table.Selection(
            hovered=self._cell,
            piece=None if chosen.piece is None else Piece(chosen.piece),
            position=chosen.position,
            orientation=chosen.orientation or 0,
        )

    def on_board(self, view: View, marks: Marks) -> tuple[Marks, Mapping[Hex, str]]:
        """Return the marks with what the player has chosen, and what it means to touch each hex."""
        if (aimed := at_table.preview(self._selection, self.model)) is not None:
            assert isinstance(self.model.legal, LegalLays)  # noqa: S101 - else nothing could be laid
            free = self.model.legal.positions
            touch = {cell: _choice(position=at) for cell, at in HEX_POSITIONS.items() if at in free}
            return replace(marks, preview=aimed, choices=free), touch
        if view.phase is not Phase.PLACING:
            return marks, {}
        touch = {cell: _choice(field=field) for cell, field in self._free.items()}
        return replace(marks, cursor=self._cell), touch

    def parts(self) -> dict[str, str]:
        """Return the parts of the page that only a player has; the menu is a terminal's, and the way out."""
        evening = element("a", _("The evening"), href=EVENING) if self._of_evening else EMPTY
        (leaving,) = LEAVE.keys
        leave = button(leaving.words, messages.Leave(NEW))
        menu = join(evening, self._counts(), self._menu_page(MENU), leave)
        return {"ask": str(self._ask()), "hand": str(self._hand()), "menu": str(menu)}

    def _counts(self) -> Markup:
        """Return what others may still hold, and the influence on the hills, as a terminal counts them."""
        if self._view is None or self._view.result is not None:
            return EMPTY
        told = spoken(counts_page(self._view, names_at(self.model), WIDE, brief=True))
        return element("details", element("summary", _(COUNTS.help)), *(element("p", each) for each in told))

    def _hand(self) -> Markup:
        view = self._view
        if self._back or view is None or view.phase is not Phase.PLACING:
            return EMPTY
        chosen = at_table.selected_piece(self._selection, self.model)
        return EMPTY.join(
            element(
                "button",
                element("b", piece_sign(each.piece), class_=f"people people-{each.piece.people}"),
                f" ×{each.count}",
                element("small", kind_words(each.piece)),
                type="button",
                data_choose=_choice(piece=str(each.piece)),
                aria_label=f"{labelled(piece_sign(each.piece), piece_words(each.piece))} ×{each.count}",
                aria_pressed="true" if each.piece == chosen else "false",
                **({} if each.legal else {"disabled": ""}),
            )
            for each in at_table.hand(self.model)
            if each.count
        )

    def _ask(self) -> Markup:
        """Return what the player is to do or decide now, as far as that is not seen on the board."""
        match self._state.stage:
            case "gathering":
                return EMPTY.join(self._before())
            case "playing" if self._back:
                return element("button", _("Back to the present"), **_to(0), class_="main")
            case "playing":
                move = element("div", *self._move(), class_="move")
                return join(*self._request(), *self._votes(), move, *self._plan(), *self._hint())
            case _ if self._of_evening:
                return element("a", _("The evening"), href=EVENING, class_="main")
            case _:
                (again,) = AGAIN.keys
                others = describe_who_plays_again(self._state)
                told = element("p", others) if others else EMPTY
                return join(told, button(_(again.short), messages.Rematch(NEW), main=True))

    def _before(self) -> Iterator[Markup]:
        state, seat = self._state, self.model.seat
        if self._may(START):
            yield button(_("Start the game"), messages.StartGame(NEW), main=True)
        if self._may(SEAT_BOT):
            yield button(_("seat a bot"), messages.SeatBot(NEW, usual_level(self._ui.offers.levels)))
        if self._may(READY) and seat is not None and seat != state.host and not state.seats[seat].ready:
            yield button(_("say that you are ready"), messages.SayReady(NEW, on=True), main=True)
        if guests := describe_guests(self._ui.guests):
            yield element("p", guests)
            if self._may(INVITE):
                yield button(_(INVITE.help), messages.Invite(NEW))
        if self._address and not self._of_evening and state.room:
            yield invitation(f"{self._address}play/{self._state.table}")

    def _may(self, action: Action) -> bool:
        return action.may(At(self._ui, self.model)) is May.YES

    def _request(self) -> Iterator[Markup]:
        asked = open_request(self._state)
        if asked is not None:
            names = names_at(self.model)
            told = element("p", describe_asked(asked, names, self._view, universal_time))
            if answered := describe_answers(asked, self._state.still_asked, names):
                told = join(told, element("p", answered, class_="faint"))
            answers = ((_("Yes"), True), (_("No"), False))
            requests = ((words, at_table.request_to_answer(self.model, on=on)) for words, on in answers)
            yield join(told, *(button(words, each) for words, each in requests if each is not None))

    def _votes(self) -> Iterator[Markup]:
        vote = at_table.next_vote(self.model)
        if vote is not None:
            seat = self._state.seats[vote.seat]
            form = _("{name} is away. Votes for a bot: {votes} of {needed}.")
            told = form.format(
                name=names_at(self.model)[vote.seat], needed=seat.votes_needed, votes=len(seat.votes)
            )
            words = _("Let a bot play") if vote.agree else _("Wait for the player")
            yield join(element("p", told), button(words, vote))

    def _move(self) -> Iterator[Markup]:
        """Yield what the player can do about the next move, the button that makes it first."""
        legal, chosen = self.model.legal, self._selection
        if isinstance(legal, LegalLays):
            at, turns = at_table.selected_position(chosen, legal), chosen.orientation
            yield button(_("lay the tile"), messages.Lay(NEW, at, turns), main=True)
            turn = _choice(orientation=(turns + 1) % len(legal.orientations))
            yield element("button", _("turn the tile clockwise"), type="button", id="turn", data_choose=turn)
            form = _("position {position}, {turned}")
            yield element("p", form.format(position=at, turned=turned(turns)))
            yield element("p", _("Touch where the tile is to lie, and turn it if you like."), class_="faint")
            return
        piece = at_table.selected_piece(chosen, self.model)
        field = None if self._cell is None else self._free[self._cell]
        told = [] if field is None else describe_foreseen(chosen, self.model)
        if isinstance(legal, LegalPlaces) and piece in legal.pieces and field in legal.fields:
            words = _("Place {piece} on {field}").format(piece=piece_sign(piece), field=field)
            yield button(words, messages.PlacePiece(NEW, str(piece), str(field)), main=True)
        elif legal is None and piece is not None and field is not None and self._may_plan(piece, field):
            words = _("Plan {piece} on {field}").format(piece=piece_sign(piece), field=field)
            new = messages.PlannedMove(str(piece), str(field))
            yield button(words, plan_request(with_plan(self.model.plans, new)), main=True)
        elif self._view is not None and self._view.phase is Phase.PLACING and not self.model.plans:
            yield element("p", self._help(), class_="faint")
        yield from (element("p", each) for each in told)

    def _may_plan(self, piece: Piece, field: Field) -> bool:
        """Return whether this can be planned for the player's turn, and is not yet."""
        plans, paused = self.model.plans, self._state.paused is not None
        known = messages.PlannedMove(str(piece), str(field)) in plans
        return self.model.seat is not None and not paused and not known and len(plans) < MOST_PLANS

    def _plan(self) -> Iterator[Markup]:
        """Yield what the player has planned, which the server does when the turn comes, if it can."""
        plans, names = self.model.plans, names_at(self.model)
        if self._plan_played is not None:
            yield from (element("p", each) for each in describe_played(self._plan_played, names))
        if not plans:
            return
        if self.model.legal is not None or (len(plans) == 1 and plans[0].condition is None):
            yield element("p", describe_plans(self.model, typed=False))
        else:
            yield element("p", _("Your plans, tried in this order when your turn comes"))
        if len(plans) == 1:
            yield button(_("Remove the plan"), messages.Plan(NEW))
        for number, plan in enumerate(plans):
            told = f"{number + 1} {describe_plan(plan, names, first=number == 0)}"
            there = None if self._cell is None else self._free[self._cell]
            inside = self._menu_page(page_of(plan, told, there))
            yield element("details", element("summary", told), inside)

    def _hint(self) -> Iterator[Markup]:
        """Yield the move that is suggested, or the button that asks for one, where the table has hints."""
        view, legal, move = self._view, self.model.legal, self._suggested
        if not self._hints or view is None or legal is None:
            return
        if move is None:
            yield element(
                "button", _("suggest a move"), type="button", id="hint", data_choose=_choice(hint=True)
            )
            return
        reason = reason_for(move, view, legal)
        if isinstance(move, LayTile):
            form = _("Hint: position {position}, {turned}.")
            told = Advice(form.format(position=move.position, turned=turned(move.orientation)), reason)
        else:
            found = Suggestion(move, reason, aim=aim_of(move, view))
            told = describe_suggestion(view, move, found, names_at(self.model))
        yield element("p", " ".join(filter(None, told)), class_="hint")

    def _help(self) -> str:
        """Return one line for a player who has not chosen what to place, or has to wait."""
        if self.model.legal is None:
            return _("While you wait: touch a piece and a field to see what it would do.")
        if any(each.count and not each.legal for each in at_table.hand(self.model)):
            return _("It is time for a soldier, because none may be among your last pieces.")
        return _("Touch a piece, and a field.")

    def _menu_page(self, page: Page) -> Markup:
        lines = []
        for choice in page.lines(At(self._ui, self.model)):
            effect = choice.effect
            if isinstance(effect, messages.FromClient):
                lines.append(button(choice.text, effect))
            elif effect == PAUSE_UNTIL:
                asking = button(_("ask for it"), messages.AskPause(NEW, on=True))
                lines.append(_field_to_open(choice.text, "until", asking, type="datetime-local"))
            elif effect == NOTIFY:
                lines += self._notices(choice.text)
            elif effect is None or isinstance(effect, TypedLine):
                lines.append(element("p", choice.text))
            elif isinstance(effect, Page) and effect not in _ELSEWHERE:
                inside = self._menu_page(effect)
                lines.append(element("details", element("summary", choice.text), inside))
        return EMPTY.join(lines)

    def _notices(self, words: str) -> Iterator[Markup]:
        """Yield the way to be notified while away: a code if one is on its way, and an address."""
        notices = self.model.notices
        if notices.state == "unconfirmed":
            confirming = button(_("confirm"), messages.ConfirmCall(NEW, "0" * NOTICE_CODE_LENGTH))
            digits = rf"\d{{{NOTICE_CODE_LENGTH}}}"
            yield _field_to_open(
                words, "digits", confirming, pattern=digits, inputmode="numeric", autocomplete="off"
            )
        elif notices.state == "unreachable":
            yield element("p", describe_notices(notices))
        leaving = button(_("send me a code"), messages.CallMe(NEW, "-", current_language()))
        which = describe_addresses(self._ui.offers.notices)
        yield _field_to_open(_(CALLED), "to", leaving, maxlength=str(ADDRESS_LENGTH), placeholder=which)


def _field_to_open(words: str, name: str, sends: Markup, **attributes: str) -> Markup:
    """Return a field that opens; its button sends what is typed there as this field of its message."""
    field = element("input", name=name, required="", aria_label=words, **attributes)
    return element("details", element("summary", words), field, sends)


def button(words: str, message: messages.FromClient, *, main: bool = False) -> Markup:
    """Return a button that sends a message."""
    looks = {"class_": "main"} if main else {}
    return element("button", words, type="button", data_do=msgspec.json.encode(message).decode(), **looks)


def sign_button(sign: str, words: str) -> Markup:
    said = msgspec.json.encode(messages.Say(NEW, sign)).decode()
    return element("button", sign, type="button", data_do=said, aria_label=words, title=words)


def invitation(link: str) -> Markup:
    """Return how others come to a table or an evening: a code that a camera reads, and a link to send."""
    told = element("p", _("Friends join with this code, or with the link:"))
    code = qr_code(link, _("QR code that leads to {address}").format(address=link))
    share = element("button", _("Share the link"), type="button", class_="share", data_share=link)
    return join(told, code, to_copy(link), share)


def to_copy(text: str) -> Markup:
    """Return a text with a button that copies it."""
    copies = element("button", _("Copy"), type="button", data_done=_("Copied"))
    return element("div", element("code", text), copies, class_="command")


def company(state: messages.TableState, hand: PlayerHand) -> Markup:
    """Return who leads through the finished game, if anybody does, and the button to follow, or no longer."""
    if not (leader := who_leads(state)):
        return EMPTY
    follows = bool(hand.choice.follow)
    words = _("look for yourself") if follows else _("follow")
    told = describe_lead(leader, leads=False, follows=follows)
    choice = _choice(follow=not follows, moment=hand.choice.moment)
    return join(element("bdi", told), element("button", words, type="button", data_choose=choice))


def navigation(at: int, last: int, end: int) -> Markup:
    """Return the way through the moments of a game or its scoring; `end` leads to the last one."""
    ways = (
        ("‹", _("the previous move or step"), at - 1, at > 1),
        ("›", _("the next move, or step of the scoring"), at + 1 if at + 1 < last else end, at < last),
        ("»", _("to the end, or the result if there is one"), end, at < last),
    )
    back, *forward = (
        element(
            "button", sign, **_to(to), aria_label=words, title=words, **({} if possible else {"disabled": ""})
        )
        for sign, words, to, possible in ways
    )
    return join(back, element("span", f"{at}/{last}"), *forward)


def _to(moment: int) -> dict[str, str]:
    return {"type": "button", "data_choose": _choice(moment=moment, follow=False)}


def _choice(**what: object) -> str:
    """Return what the page says if this is chosen."""
    return msgspec.json.encode(MoveChoice(**what)).decode()  # type: ignore[arg-type]
