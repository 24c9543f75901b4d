"""What the server refuses, and why it closes a connection, in the player's language."""

from collections.abc import Mapping

from client.language import _, describe_reason
from protocol.codes import CloseReason, refusal_template, sentence
from protocol.messages import Refused
from protocol.text import Unsafe, printable


def describe_refusal(refused: Refused) -> str:
    """Return the refusal as a sentence that is safe to show.

    It is the server's own sentence if the code is unknown or a fact is missing, as from another version.
    """
    return _describe(refused.code, refused.about or {}) or printable(refused.text)


def describe_closing(reason: str) -> str:
    try:
        return _(CloseReason(reason).text)
    except ValueError:  # as from a newer server
        return printable(reason)


def describe_unsafe_name(unsafe: Unsafe) -> str:
    """Return why a name cannot be shown to others, as the server would say it."""
    return _describe(f"name-{unsafe.fault}", unsafe.about)


def _describe(code: str, about: Mapping[str, str]) -> str:
    """Return the sentence for a code, empty if there is none."""
    try:
        template = refusal_template(code, about)
        facts = {name: describe_reason(fact) if name == "reason" else fact for name, fact in about.items()}
        return sentence(_(template), {name: printable(fact) for name, fact in facts.items()})
    except KeyError:
        return ""
