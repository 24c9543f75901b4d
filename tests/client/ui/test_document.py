"""docs/client.md shows the current screens."""

import os
import re

from tests.client.ui.pty_terminal import ROOT
from tests.client.ui.seen import SCREENS

DOCUMENT = ROOT / "docs" / "client.md"
SHOWN = {
    "start": "The start screen",
    "lobby-talk": "The lobby",
    "scoring-piece": "The scoring",
    "replay-placing": "A record",
}


def screens() -> str:
    parts = []
    for name, title in SHOWN.items():
        text = (SCREENS / f"{name}-80x24.txt").read_text(encoding="utf-8")
        text = re.sub(r" *\|$", "", text, flags=re.MULTILINE)
        parts.append(f"### {title}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)


def test_the_document_is_up_to_date() -> None:
    """It has these screens; with SCREENS=new in the environment, they are written again."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- screens: ")
    source, end, after = rest.partition(" -->\n")
    made = f"{before}{begin}{source}{end}\n{screens()}\n\n<!-- end -->{after.partition('<!-- end -->')[2]}"
    if os.environ.get("SCREENS") == "new":
        DOCUMENT.write_text(made, encoding="utf-8")
        text = made
    assert text == made
