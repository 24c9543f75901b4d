"""How this program is installed: its version, its modules as processes, and how to add packages."""

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

VERSION: Final = "1.0.0"  # looking up what is installed takes milliseconds and a MiB
SERVER_NAME: Final = f"palatinus/{VERSION}"


def module_process(module: str) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment with which a process runs a module of this program."""
    # -P: a module in the current folder must not stand in for one of ours.
    return [sys.executable, "-P", "-m", module], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra where this program is installed."""
    packaged = Path(__file__).is_relative_to("/usr/lib/palatinus")  # see build_debian.py
    # Or a single file: see build_release.py.
    if packaged or getattr(sys, "frozen", False) or "_bootstrap" in sys.modules:
        return shlex.join(["pipx", "install", f"palatinus-{VERSION}-py3-none-any.whl[{extra}]"])
    package = f"palatinus[{extra}]"
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return shlex.join(["pipx", "runpip", "palatinus", "install", package])
    if find_spec("pip") is None:  # as in the environments of uv
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, package])
    # For this very Python: another one's pip would look for some palatinus on the internet.
    return shlex.join([sys.executable, "-m", "pip", "install", package])
