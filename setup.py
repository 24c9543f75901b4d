"""Where an installed Palatinus lies, its catalogues and compiled modules; all else is in pyproject.toml.

The names of our folders are common ones (`server`, `client`), so a wheel puts them into a folder of its own.
`palatinus` looks there first. For other programs in the same environment, a .pth file names it last: they can
import our packages, and never get them in place of their own.

With PALATINUS_COMPILED=1, the search is compiled by mypyc (mypy and a C compiler are needed): it then runs
nearly twice as many simulations a second, and finds the same moves. Other Pythons use the source beside it.
"""

import os
import sys
from pathlib import Path
from typing import Final

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent))  # a build does not look there
from build_catalogues import compile_catalogues

_FOLDER: Final = "_palatinus"
_COMPILED: Final = ("engine/terrain.py", "client/bots/search/tree.py")


class BuildInOwnFolder(build_py):
    """Copies modules as always, and packages into their folder; an editable installation copies nothing."""

    def run(self) -> None:
        compile_catalogues()
        super().run()

    def build_packages(self) -> None:
        Path(self.build_lib, "palatinus.pth").write_text(f"{_FOLDER}\n", encoding="utf-8")
        self.build_lib = str(Path(self.build_lib, _FOLDER))
        super().build_packages()


class CompileInOwnFolder(build_ext):
    """Compiles modules into the same folder, or where they are for an editable installation."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.build_lib = str(Path(self.build_lib, _FOLDER))


def compiled_modules() -> list[Extension]:
    """Return what is to be compiled, each module by itself: what two shared would be in no package."""
    if os.environ.get("PALATINUS_COMPILED") != "1":
        return []
    from mypyc.build import mypycify  # noqa: PLC0415 - only this needs it

    # Without what debuggers need, two builds are equal, byte for byte.
    return [each for path in _COMPILED for each in mypycify([path], debug_level="0")]


setup(
    cmdclass={"build_py": BuildInOwnFolder, "build_ext": CompileInOwnFolder},
    ext_modules=compiled_modules(),
)
