"""`palatinus serve --web` as a program, with its options from a file."""

import signal
from pathlib import Path

from tests.server.process import serving
from tests.server.web.viewer import asked


async def test_the_program_says_where_its_pages_are(tmp_path: Path) -> None:
    """Beside the addresses to join; browsers get the page, and it ends with the server."""
    file = tmp_path / "serve.toml"
    file.write_text("web = true\nmemory = true\n", encoding="utf-8")
    async with serving("--config", str(file), "--lang", "en") as server:
        page = await asked(server.port, "/", headers={"Accept-Language": "nl"})
        server.process.send_signal(signal.SIGTERM)
        code, output, errors = await server.ended()
    assert (page.status, code, errors) == (200, 0, "")
    assert "<h1>Palatinus</h1>" in page.text
    assert '<html lang="nl">' in page.text
    assert f"  http://127.0.0.1:{server.port}/\n" in output
