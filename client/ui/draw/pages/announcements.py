"""What the people who run the server have to say, over whatever page is open."""

from client.language import _
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, begun, fitted, line, stacked, wrapped
from client.ui.update.state import Announcements


def announcements_block(announcements: Announcements, width: int, height: int) -> Block:
    """Return the announcements, the newest first: it is seen whole, however small the window."""
    heading = _("ANNOUNCEMENT BY THE HOST OF THE SERVER")
    lines: list[Line] = [
        fitted(line(f" {row}", "class:refusal"), width, "class:refusal")
        for row in begun(wrapped(heading, width - 2), 2, width - 2)
    ]
    for text in reversed(announcements.texts):
        rows = [line(f"  {row}", "class:info") for row in wrapped(text, width - 4)]
        if len(lines) + len(rows) + 1 > height and len(lines) > 2:
            break
        lines += [EMPTY, *rows] if len(rows) + len(lines) < height else rows
    return Block(tuple(stacked(lines, width, height)))
