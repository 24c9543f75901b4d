"""docs/client.md shows the current keys and screens."""

import os
import re

from client.ui.draw.pages.reading import key_rows
from client.ui.texts.glyphs import UNICODE
from client.ui.update.keys.contexts import KeyContext
from client.ui.update.keys.names import key_name
from client.ui.update.keys.table import keys_at
from tests.client.ui.pty_terminal import ROOT
from tests.client.ui.seen import SCREENS

DOCUMENT = ROOT / "docs" / "client.md"
CONTEXTS = {
    KeyContext.START: "On the start screen",
    KeyContext.SEARCH: "Looking for servers",
    KeyContext.HISTORY: "The list of past games",
    KeyContext.LOBBY: "In the lobby",
    KeyContext.GATHERING: "Waiting at a table",
    KeyContext.LAYING: "Laying a tile",
    KeyContext.PLACING: "Placing",
    KeyContext.SCORING: "The scoring",
    KeyContext.RESULT: "The result",
    KeyContext.ENDED: "A game that was ended",
    KeyContext.MENU: "The menu of a table",
    KeyContext.REPLAY: "Looking at a record",
    KeyContext.LESSON: "In the lessons",
    KeyContext.READING: "Reading help or rules",
    KeyContext.ANNOUNCEMENT: "Reading an announcement",
    KeyContext.TALK: "Reading all that was said",
    KeyContext.QUITTING: "Asked whether to quit",
    KeyContext.TYPING: "Typing a line",
}
SHOWN = {
    "start": "The start screen",
    "search": "Looking for servers",
    "lobby-talk": "The lobby",
    "gathering": "Waiting for players",
    "menu": "The menu of a table",
    "laying": "Laying a tile",
    "placing": "Placing",
    "scoring-piece": "The scoring",
    "result": "The result",
    "history": "The list of past games",
    "replay-placing": "A record",
    "learn-farmers-done": "A lesson",
}


def keys() -> str:
    parts = []
    for context, title in CONTEXTS.items():
        rows = [
            f"| {names.replace('|', '&#124;')} | {words} |"
            for names, words in key_rows(keys_at(context), UNICODE)
        ]
        parts.append("\n".join((f"### {title}", "", "| key | what it does |", "|---|---|", *rows)))
    return "\n\n".join(parts)


def screens() -> str:
    parts = []
    for name, title in SHOWN.items():
        text = (SCREENS / f"{name}-80x24.txt").read_text(encoding="utf-8")
        text = re.sub(r" *\|$", "", text, flags=re.MULTILINE)
        parts.append(f"### {title}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)


def test_the_document_is_up_to_date() -> None:
    """It has every key and every screen; with SCREENS=new in the environment, they are written again."""
    text = DOCUMENT.read_text(encoding="utf-8")
    made = text
    for name, content in (("keys", keys()), ("screens", screens())):
        before, begin, rest = made.partition(f"<!-- {name}: ")
        source, end, after = rest.partition(" -->\n")
        made = f"{before}{begin}{source}{end}\n{content}\n\n<!-- end -->{after.partition('<!-- end -->')[2]}"
    if os.environ.get("SCREENS") == "new":
        DOCUMENT.write_text(made, encoding="utf-8")
        text = made
    assert text == made


def test_every_context_is_documented() -> None:
    assert set(CONTEXTS) == set(KeyContext)
    assert all(
        key_name(name, UNICODE) for context in KeyContext for key in keys_at(context) for name in key.names
    )
