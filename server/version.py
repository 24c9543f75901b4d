"""The version that is installed, and how to install what some options need."""

import functools
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final


@functools.cache  # looking it up takes a few milliseconds
def installed_version() -> str | None:
    """Return the version of Palatinus, None if it runs without having been installed."""
    try:
        return version("palatinus")
    except PackageNotFoundError:
        return None


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra where this program is installed."""
    package = f"palatinus[{extra}]"
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return shlex.join(["pipx", "runpip", "palatinus", "install", package])
    if find_spec("pip") is None:  # as in the environments of uv
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, package])
    # For this very Python: another one's pip would look for some palatinus on the internet.
    return shlex.join([sys.executable, "-m", "pip", "install", package])


SERVER_NAME: Final = f"palatinus/{installed_version() or 'dev'}"
