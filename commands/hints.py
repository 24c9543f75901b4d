"""Suggestions for players; the client itself knows no brains."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client.suggestion import Suggestion
    from engine.legal import Legal
    from engine.view import View


async def suggested(view: "View", legal: "Legal") -> "Suggestion":
    """Return the move that promises most; what that takes is loaded when the first one is wanted."""
    from client.bots import hints

    return await hints.suggested(view, legal)
