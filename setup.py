"""Where an installed Palatinus lies, and its catalogues; everything else about it is in pyproject.toml.

The names of our folders are common ones (`server`, `client`), so a wheel puts them into a folder of its own.
`palatinus` looks there first. For other programs in the same environment, a .pth file names it last: they can
import our packages, and never get them in place of their own.
"""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent))  # a build does not look there
from build_catalogues import compile_catalogues


class BuildInOwnFolder(build_py):
    """Copies modules as always, and packages into `_palatinus`; an editable installation copies nothing."""

    def run(self) -> None:
        compile_catalogues()
        super().run()

    def build_packages(self) -> None:
        Path(self.build_lib, "palatinus.pth").write_text("_palatinus\n", encoding="utf-8")
        self.build_lib = str(Path(self.build_lib, "_palatinus"))
        super().build_packages()


setup(cmdclass={"build_py": BuildInOwnFolder})
