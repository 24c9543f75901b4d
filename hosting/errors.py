"""What keeps a server from running here, in the language of its host."""

from client.language import _, describe_reason
from protocol.codes import sentence
from server.errors import HostError, JournalError


def describe_host_error(error: HostError) -> str:
    """Return the host's error in the current language, without a full stop."""
    facts = error.about.items()
    told = {name: describe_reason(fact) if name == "reason" else str(fact) for name, fact in facts}
    return sentence(_(error.text), told).rstrip(".")


def describe_unkept(error: OSError | JournalError) -> str:
    """Return why a game cannot be kept, without the advice for those who run palatinus serve."""
    if isinstance(error, OSError):
        return describe_reason(error)
    return describe_reason(error.about.get("reason", _("its journal cannot be read")))
