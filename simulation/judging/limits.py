"""Whether the server has kept to the limits that it was given."""

from collections import defaultdict, deque
from collections.abc import Container, Iterable
from typing import Final

from protocol.codes import Code
from protocol.messages import AskTurn, JoinTable, Refused, Resume, TableState, Watch
from server.config import Limits
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Wiretap

_ABOUT_A_CODE: Final = AskTurn | JoinTable | Resume | Watch
_NEARLY_A_MINUTE: Final = 59.0  # whatever the drift of the server's clock


def check_spectators(taps: Iterable[Wiretap], limits: Limits, verdict: Verdict) -> None:
    """No table has more spectators than it may."""
    for tap in taps:
        for heard in tap.heard:
            state, most = heard.message, limits.spectators
            if isinstance(state, TableState) and state.spectators > most:
                text = f"it has {state.spectators} spectators, not {most}"
                verdict.different.append(tap.finding(text, heard))


def check_guesses(taps: Iterable[Wiretap], codes: Container[str], limits: Limits, verdict: Verdict) -> None:
    """Within a minute, one address learns of no more than so many of these codes that they are no table's.

    All taps are of that address, and no table has ever had any of the codes.
    """
    refused = defaultdict[tuple[str, int], list[float]](list)
    for tap in taps:
        asked = (each.message for each in tap.asked if isinstance(each.message, _ABOUT_A_CODE))
        wrong = {message.id for message in asked if message.table in codes}
        for heard in tap.heard:
            match heard.message:
                case Refused(code=Code.NO_SUCH_TABLE | Code.BAD_TOKEN, id=answered) if answered in wrong:
                    refused[tap.server, tap.life].append(heard.time)
    for (server, _), times in refused.items():
        latest = deque[float](maxlen=limits.wrong_codes_per_address + 1)
        for time in sorted(times):
            latest.append(time)
            if len(latest) == latest.maxlen and latest[-1] - latest[0] < _NEARLY_A_MINUTE:
                most = limits.wrong_codes_per_address
                text = f"{server} let a stranger guess more than {most} codes a minute"
                verdict.different.append(Finding(text, at=time))
                break
