"""Asking servers, as the list of the player's seats does."""

import pytest

from client.finding.found import Gone, SeatAnswer
from client.finding.search import follow_seat
from client.network.transport import FREE_ACCESS
from protocol.codes import Code
from protocol.messages import AskTurn, Hello, Refused, ServerMessage, Turn, Welcome
from tests.client.scripted import Act, Peer, scripted

PROOF = "0" * 64
WELCOME = Welcome(1, "a script", turns=True)


def answering(*answers: ServerMessage, welcome: Welcome = WELCOME) -> Act:
    """Return what a server does that is asked once for each of these answers, and no more."""

    async def act(peer: Peer) -> None:
        assert (await peer.receive(Hello)).password is None
        await peer.send(welcome)
        for answer in answers:
            question = await peer.receive(AskTurn)
            assert (question.table, question.proof) == ("KXQT", PROOF)
            await peer.send(answer)

    return act


async def shown(url: str) -> list[SeatAnswer]:
    """Return all that is shown of a seat until it is settled."""
    answers: list[SeatAnswer] = []
    await follow_seat(url, "KXQT", PROOF, FREE_ACCESS, answers.append)
    return answers


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (Turn(0, "over", 1), Turn(0, "over", 1)),
        (Turn(0, "playing", archived=True), Turn(0, "playing", archived=True)),
        (Refused(Code.BAD_TOKEN, "", 0), Gone()),
    ],
)
async def test_what_will_not_change_is_asked_once(answer: ServerMessage, seen: SeatAnswer) -> None:
    async with scripted(answering(answer)) as url:
        assert await shown(url) == [seen]
    async with scripted(answering(welcome=Welcome(1, "an older one"))) as url:
        assert await shown(url) == []  # which does not know the question, and is not asked


async def test_a_table_at_another_server_is_asked_for_there() -> None:
    async with scripted(answering(Turn(0, "over", 1))) as there:
        moved = Refused(Code.TABLE_ELSEWHERE, "", 0, about={"table": "KXQT", "address": there})
        async with scripted(answering(moved)) as url:
            assert await shown(url) == [Turn(0, "over", 1)]
