"""What the tests of pages share with those of servers."""

from tests.server.conftest import authority, certificate, quick_pages, trusting

__all__ = ["authority", "certificate", "quick_pages", "trusting"]
