"""How what is missing is installed: it depends on how the program was."""

import importlib.util
import sys
from pathlib import Path

import pytest

from server.version import install_command, installed_version


def test_the_command_to_install_fits_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With pip, with uv where there is no pip, and through pipx, as it does beside a single file."""
    monkeypatch.setattr(sys, "executable", "/x/python")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("server.version.find_spec", lambda _name: importlib.util.find_spec("json"))
    assert install_command("ssh") == "/x/python -m pip install 'palatinus[ssh]'"
    monkeypatch.setattr("server.version.find_spec", lambda _name: None)
    assert install_command("ssh") == "uv pip install --python /x/python 'palatinus[ssh]'"
    (tmp_path / "pipx_metadata.json").touch()
    assert install_command("ssh") == "pipx runpip palatinus install 'palatinus[ssh]'"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert install_command("rl") == f"pipx install 'palatinus-{installed_version()}-py3-none-any.whl[rl]'"
