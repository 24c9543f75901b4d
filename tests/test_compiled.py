"""The compiled search: what it computes is what its source computes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ITS_TESTS = (
    "tests/engine/test_terrain.py",
    "tests/client/bots/test_search.py",
    "tests/client/bots/test_brains.py",
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
def test_the_tests_of_the_search_pass_when_it_is_compiled(tmp_path: Path) -> None:
    pytest.importorskip("mypyc", reason="mypy is missing: pip install -e .[lint]")
    pytest.importorskip("setuptools", minversion="77", reason="setuptools is old: pip install -e .[lint]")
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "*.so", "build", "node_modules"))

    def run(*words: str) -> None:
        environment = {**os.environ, "PALATINUS_COMPILED": "1", "PYTHONPATH": str(copy)}
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    run("setup.py", "-q", "build_ext", "--inplace")
    run("-c", "import client.bots.search.tree as tree; assert tree.__file__.endswith('.so'), tree.__file__")
    run("-m", "pytest", "-n0", "-q", "-m", "", *ITS_TESTS)
