"""`python -m build_lock` chooses the packages of the releases anew, and writes them into `locks`.

Each lock names exact versions, and the hashes of all their files: `pip install --require-hashes` takes
nothing else, whatever an index offers. The locks name no index.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parent
LOCKS: Final = _ROOT / "locks"
_OLDEST: Final = "3.11"  # Python; the locks hold for all newer ones
_HEAD: Final = "# Made by python -m build_lock, for {purpose}.\n"


def main() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    LOCKS.mkdir(exist_ok=True)
    program = LOCKS / "program.txt"
    for name, (purpose, requirements) in needed(project).items():
        # The first lock has all that the program may need: the others take the same versions from it.
        chosen = () if name == program.stem else ("--constraint", str(program))
        locked = _compiled(requirements, *chosen)
        (LOCKS / f"{name}.txt").write_text(_HEAD.format(purpose=purpose) + locked, encoding="utf-8")


def needed(project: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """Return what each lock is for, and the requirements that it fulfils, by its name."""
    base, extras = project["project"]["dependencies"], project["project"]["optional-dependencies"]
    tools, backend = extras["release"], project["build-system"]["requires"]
    return {
        "program": (
            "the Debian package and the container",
            [*base, *extras["cluster"], *extras["fast"], *extras["ssh"]],
        ),
        "single-file": ("the single files", [*base, *extras["cluster"], *extras["ssh"]]),
        "wheel": ("the wheel's bill of materials", base),
        "executable": ("the executable's tools", [each for each in tools if each.startswith("pyinstaller")]),
        "backend": ("building the wheel", backend),
        "release": ("building a release", [*backend, *tools]),
    }


def _compiled(requirements: list[str], *options: str) -> str:
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"]
    command += ["--no-annotate", "--python-version", _OLDEST, *options, "-"]
    ran = subprocess.run(
        [sys.executable, "-P", "-m", *command],
        input="\n".join(requirements),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ran.stdout


if __name__ == "__main__":
    main()
