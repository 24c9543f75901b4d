"""Games analysed beside a screen; the client itself knows no brains."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client.records.analysis import Analysis
    from client.records.recording import Recording


async def analyse(recording: "Recording", told: "Callable[[Analysis], None]") -> str:
    """Analyse a finished game; return what went wrong, if anything."""
    from client.bots.analysis.analyst import AnalysisFailed, Effort, analysed

    try:
        await analysed(recording, Effort(), told)
    except AnalysisFailed as error:
        return str(error)
    return ""
