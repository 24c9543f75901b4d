"""The way in for a program that connects for others."""

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from server.app import running
from server.config import Config, Limits
from tests.server.peer import Peer, eventually


async def test_only_who_shows_the_token_is_let_in_and_believed() -> None:
    told: list[tuple[str, str]] = []
    config = Config(gateway=lambda url, token: told.append((url, token)), watched=True)
    async with running(config) as server:
        ((url, token),) = told
        wrong: tuple[dict[str, str], ...] = (
            {},
            {"Authorization": "Bearer "},
            {"Authorization": f"Bearer {token}x"},
            {"Authorization": token},
            {"Authorization": "Bearer \u00e9"},
        )
        for headers in wrong:
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers={**headers, "X-Forwarded-For": "192.0.2.7"})
            assert refused.value.response.status_code == 401
            assert not refused.value.response.body
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "203.0.113.9, 192.0.2.7"}
        async with connect(url, additional_headers=headers) as socket:
            await Peer(socket).hello()
            assert [client.name for client in server.clients] == ["192.0.2.7"]


async def test_a_guests_address_has_limits_of_its_own() -> None:
    told: list[tuple[str, str]] = []
    limits = Limits(connections_per_address=2)
    async with running(Config(gateway=lambda url, token: told.append((url, token)), limits=limits)) as server:
        ((url, token),) = told
        bearer = {"Authorization": f"Bearer {token}"}
        here = [
            await connect(url, additional_headers={**bearer, "X-Forwarded-For": "192.0.2.7"})
            for _ in range(2)
        ]
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers={**bearer, "X-Forwarded-For": "192.0.2.7"})
        assert refused.value.response.status_code == 503
        here.append(await connect(url, additional_headers={**bearer, "X-Forwarded-For": "192.0.2.8"}))
        for socket in here:
            await socket.close()
        await eventually(lambda: len(server.clients) == 0)
