"""The version that is installed."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def installed_version() -> str | None:
    """Return the version of Palatinus, None if it runs without having been installed."""
    try:
        return version("palatinus")
    except PackageNotFoundError:
        return None


SERVER_NAME: Final = f"palatinus/{installed_version() or 'dev'}"
