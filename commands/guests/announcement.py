"""What a host tells those who may come over ssh."""

from client.language import _
from server.net.addresses import reachable


def announcement(host: str, port: int, fingerprint: str) -> str:
    """Return what the host tells guests."""
    told = _("Guests play with nothing installed; the key of this host is {fingerprint}").format(
        fingerprint=fingerprint
    )
    return "\n".join((told, *(f"  ssh -p {port} {address}" for address in reachable(host))))
