"""How a player in a browser says where to be called."""

import html
import json
import re
from dataclasses import replace

from pages.drawing.pages import WebPages
from protocol import messages
from server.app import running
from tests.pages.serving.viewer import player_page
from tests.server.peer import connected
from tests.server.tables.calling import called_by_url


async def test_a_player_in_a_browser_leaves_an_address_confirms_it_and_removes_it() -> None:
    async with called_by_url() as called:
        config = replace(called.config, pages=WebPages())
        async with running(config) as server, connected(server.port) as host:
            code = (await host.open(2, "Host")).table
            async with player_page(server.port, code, language="it") as page:
                await page.join(code, "Anna")
                await page.until_shown(lambda parts: 'name="to"' in parts.get("menu", ""))
                assert "un URL" in page.parts["menu"]
                called.receiver.answers.append(b"HTTP/1.1 404 No\r\n\r\n")
                await page.done(messages.CallMe, called.url, "it")
                await page.until_shown(lambda parts: "Non è stato possibile consegnare" in parts["menu"])
                await called.receiver.next()
                await page.done(messages.CallMe, called.url, "it")
                await page.until_shown(lambda parts: 'name="digits"' in parts["menu"])
                await page.done(messages.ConfirmCall, await called.receiver.code())
                await page.until_shown(lambda parts: 'name="' not in parts["menu"])
                assert "secret-topic" not in "".join(page.shown)
                (off,) = re.findall('data-do="([^"]*call-me[^"]*)', page.parts["menu"])
                assert json.loads(html.unescape(off)) == {"t": "call-me", "id": 0}
                await page.done(messages.CallMe)
                await page.until_shown(lambda parts: 'name="to"' in parts["menu"])
