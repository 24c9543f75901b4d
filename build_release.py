"""`python -m build_release` makes what a release consists of (docs/releases.md)."""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from PyInstaller.archive.readers import CArchiveReader

import build_debian
from build_lock import LOCKS

_ROOT: Final = Path(__file__).parent
_PYTHON: Final = f"python{sysconfig.get_python_version()}"
# What is imported by name, or only in processes of its own, PyInstaller does not find.
_FOLDERS: Final = (
    *("commands", "hosting", "gateway", "pages", "past_games"),
    *("server", "client", "engine", "protocol", "discovery", "salvage"),
)
_MODULES: Final = ("palatinus", "anyio.to_process", "shtab")
# readline's library is under the GPL.
_NEVER_USED: Final = (
    "curses",
    "doctest",
    "lib2to3",
    "pip",
    "pydoc",
    "readline",
    "setuptools",
    "tkinter",
    "unittest",
)
# The zipapp, which has what was compiled for one Python, begins with this instead of shiv's own lines.
_ZIPAPP: Final = f"""\
import sys
if sys.version_info[:2] != {sys.version_info[:2]}:
    sys.exit("palatinus: this file needs {_PYTHON}: run {_PYTHON} " + sys.argv[0])
import {{module}}
try:
    {{module}}.{{fn}}()
except (OSError, RuntimeError) as error:  # of unpacking: the program handles its own
    advice = "set SHIV_ROOT to a folder that can be written"
    sys.exit(f"palatinus: cannot unpack this file: {{{{error}}}}; {{{{advice}}}}")
"""
# An executable is its own Python: it starts processes for guests and thinking as `palatinus -P -m MODULE`.
# Those of anyio, which it starts with -u, have to write without a buffer.
_PROGRAM: Final = """\
import io, os, runpy, sys
if "-m" in sys.argv[1:3]:
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0), write_through=True)
    sys.argv = sys.argv[sys.argv.index("-m") + 1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    from palatinus import main
    sys.exit(main())
"""


def main() -> None:
    """Make everything of the commit that is checked out."""
    parser = argparse.ArgumentParser(prog="build_release", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to put it; must be empty, or not exist")
    folder: Path = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    if other := _tools_that_differ():
        locked = LOCKS.relative_to(_ROOT) / "release.txt"
        parser.error(f"install {locked} with --require-hashes first: other versions are here of {other}")
    if shutil.which("cc") is None:
        parser.error("install a C compiler first (cc)")
    os.environ.setdefault("SOURCE_DATE_EPOCH", _run("git", "log", "-1", "--format=%ct").strip())
    os.environ["PYTHONHASHSEED"] = "1"  # PyInstaller's archives depend on it
    with tempfile.TemporaryDirectory() as work:
        _make(folder, Path(work))
    sums = (f"{_sha256(file.read_bytes())}  {file.name}\n" for file in sorted(folder.iterdir()))
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _tools_that_differ() -> str:
    """Return the names of the tools that are installed in another version than the lock's."""
    lock = (LOCKS / "release.txt").read_text(encoding="utf-8")
    found = []
    for name, locked in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE):
        try:
            if version(name) != locked:
                found.append(name)
        except PackageNotFoundError:  # of another system; a tool that needs it says so
            continue
    return ", ".join(found)


def _make(folder: Path, work: Path) -> None:
    source, environment = work / "source", work / "environment"
    locks = source / LOCKS.name
    _run("git", "archive", "--output", work / "source.tar", "HEAD")
    with tarfile.open(work / "source.tar") as commit:
        commit.extractall(source, filter="data")
    _tool("build", "--no-isolation", "--outdir", folder, source)  # with the lock's setuptools
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    _repack(sdist)
    os.environ["PALATINUS_COMPILED"] = "1"  # in all that is for one kind of system
    _tool("build", "--no-isolation", "--wheel", "--outdir", folder, source)
    (compiled,) = set(folder.glob("*.whl")) - {wheel}
    _tool("twine", "check", "--strict", sdist, wheel, compiled)
    _tool("check_wheel_contents", wheel, compiled)

    _tool("venv", "--without-pip", environment)
    _install(environment, locks / "wheel.txt", compiled)
    bill = _bill(environment, source)
    for each in (wheel, compiled):
        _write_bill(each, bill)
    _install(environment, locks / "single-file.txt")
    bill = _bill(environment, source)
    name = f"{sdist.name.removesuffix('.tar.gz')}-{sysconfig.get_platform()}"
    zipapp, executable = folder / f"{name}-{_PYTHON}.pyz", folder / name
    _make_zipapp(zipapp, environment)
    _write_bill(zipapp, bill)
    _make_executable(executable, environment, work, locks / "executable.txt")
    bill["components"] += _python_itself(executable)
    _write_bill(executable, bill)

    if not (shutil.which("dpkg-deb") and shutil.which("strip")):
        print("dpkg-deb or strip is missing, so there will be no Debian package.", file=sys.stderr)
        return
    _tool("venv", "--without-pip", environment := work / "debian")
    _install(environment, lock := locks / "program.txt", compiled)
    _write_bill(build_debian.build_package(compiled, source, folder, lock), _bill(environment, source))


def _repack(sdist: Path) -> None:
    """Write the archive again without when, and by whom, its files were made."""
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    with (
        tarfile.open(sdist) as old,
        gzip.GzipFile("", "wb", fileobj=(packed := io.BytesIO()), mtime=seconds) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            plain = member.replace(mtime=seconds, uid=0, gid=0, uname="", gname="")
            new.addfile(plain, old.extractfile(member))
    sdist.write_bytes(packed.getvalue())


def _install(environment: Path, lock: Path, wheel: Path | None = None) -> None:
    """Install what the lock names, and the wheel; a file with another hash ends the build."""
    pip = ("pip", "--python", environment / "bin/python", "install", "--quiet", "--no-compile", "--no-deps")
    _tool(*pip, "--require-hashes", "--requirement", lock)
    if wheel is not None:
        _tool(*pip, "--no-index", wheel)
    for name in ("direct_url.json", "RECORD"):  # they depend on where this is
        for file in _packages(environment).glob(f"*.dist-info/{name}"):
            file.unlink()


def _packages(environment: Path) -> Path:
    return environment / "lib" / _PYTHON / "site-packages"


def _make_zipapp(zipapp: Path, environment: Path) -> None:
    shiv = f"from shiv import builder, cli; builder.MAIN_TEMPLATE = {_ZIPAPP!r}; cli.main()"
    _run(
        *(sys.executable, "-P", "-c", shiv, "--reproducible", "--extend-pythonpath"),
        *("--site-packages", _packages(environment)),
        *("--entry-point", "palatinus:main", "--root", "~/.cache/palatinus"),
        *("--python", f"/usr/bin/env {_PYTHON}", "--output-file", zipapp),
    )


def _make_executable(executable: Path, environment: Path, work: Path, lock: Path) -> None:
    (program := work / "program.py").write_text(_PROGRAM, encoding="utf-8")
    compiled = {file.name.partition(".")[0] for file in _packages(environment).glob("*__mypyc.*")}
    installed = [each.name.partition("-")[0] for each in _packages(environment).glob("*.dist-info")]
    # In an environment without the other tools: it would take their packages for optional ones of ours.
    _install(environment, lock)
    os.environ["PYTHONPATH"] = str(_packages(environment) / "_palatinus")
    _run(
        *(environment / "bin/python", "-P", "-m", "PyInstaller", "--onefile", "--log-level", "ERROR"),
        *(("--strip",) if shutil.which("strip") else ()),
        *("--name", executable.name, "--distpath", executable.parent),
        *("--workpath", work / "pyinstaller", "--specpath", work),
        *(f"--collect-data={name}" for name in ("client", "pages", "homoglyphs_fork")),
        *(f"--collect-submodules={name}" for name in _FOLDERS),
        *(f"--hidden-import={name}" for name in (*_MODULES, *sorted(compiled))),
        *(f"--exclude-module={name}" for name in _NEVER_USED),
        *(f"--copy-metadata={name}" for name in sorted(installed)),  # for `palatinus doctor`
        program,
    )


def _bill(environment: Path, source: Path) -> dict[str, Any]:
    """Return the bill of materials of what is installed in the environment."""
    project = ("--pyproject", source / "pyproject.toml", "--mc-type", "application")
    text = _tool("cyclonedx_py", "environment", "--output-reproducible", *project, environment / "bin/python")
    bill: dict[str, Any] = json.loads(text)
    return bill


def _python_itself(executable: Path) -> list[dict[str, Any]]:
    """Return the components of an executable that are no packages."""
    archive = CArchiveReader(str(executable))
    libraries = sorted(name for name in archive.toc if name.startswith("lib") and ".so" in name)
    return [
        _component("CPython", platform.python_version(), "PSF-2.0"),
        _component(
            "PyInstaller's boot loader", version("pyinstaller"), "GPL-2.0-or-later WITH Bootloader-exception"
        ),
        *(
            {
                "type": "file",
                "name": name,
                "hashes": [{"alg": "SHA-256", "content": _sha256(archive.extract(name))}],
            }
            for name in libraries
        ),
    ]


def _component(name: str, version: str, licence: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "licenses": [{"expression": licence}]}


def _write_bill(artefact: Path, bill: dict[str, Any]) -> None:
    artefact.with_name(f"{artefact.name}.cdx.json").write_text(json.dumps(bill, indent=1), encoding="utf-8")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tool(module: str, *words: str | Path) -> str:
    return _run(sys.executable, "-P", "-m", module, *words)


def _run(*command: str | Path) -> str:
    print("+", *command, file=sys.stderr)
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT)
    return ran.stdout


if __name__ == "__main__":
    main()
