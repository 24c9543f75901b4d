"""What the server calls itself."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def _version() -> str:
    try:
        return version("palatinus")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "dev"


SERVER_NAME: Final = f"palatinus/{_version()}"
