"""What the tests of servers share: a certificate and who trusts it, and pages that change quickly."""

import ssl
from pathlib import Path

import pytest
import trustme

from pages.serving import live_page, subjects, television


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """Return what a client needs that trusts the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    return context


@pytest.fixture
def certificate(authority: trustme.CA, tmp_path: Path) -> Path:
    """Return a file with a certificate for this machine, and its key."""
    file = tmp_path / "cert.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    return file


@pytest.fixture(autouse=True)
def quick_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages change as often as what they show does."""
    monkeypatch.setattr(live_page, "_SECONDS_BETWEEN_DRAWINGS", 0.001)
    monkeypatch.setattr(subjects, "_SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(television, "_SECONDS_BETWEEN_LOOKS", 0.001)
