"""The Debian package: one for Python 3.11 to 3.14, with all that the program needs in /usr/lib/palatinus."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from email.parser import HeaderParser
from itertools import chain
from pathlib import Path
from typing import Final

_PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
_GLIBC: Final = (17, 24, 26, 27, 28, 31, 34, 35, 36)  # 2.36 is Debian 12's
# Where they link to each other, they find each other; a browser shows the pictures.
_GUIDES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "docs/*.json",
    "docs/pictures/*.svg",
    "docs/examples/**/*",
)
_MAINTAINER: Final = "Palatinus <palatinus@example.org>"

# -P: neither /usr/bin nor the current folder may stand in for a package. The program's processes find the
# packages with PYTHONPATH.
_PROGRAM: Final = """\
#!/usr/bin/python3 -P
import os
import sys

sys.path.insert(0, "/usr/lib/palatinus")
os.environ["PYTHONPATH"] = ":".join(filter(None, (sys.path[0], os.environ.get("PYTHONPATH"))))

from palatinus import main

if __name__ == "__main__":  # a process of anyio's runs this file too
    sys.exit(main())
"""
_CONTROL: Final = """\
Package: palatinus
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= 2.36), python3 (>= 3.11), python3 (<< 3.15)
Section: net
Priority: optional
Description: board game of the seven hills of Rome, in the terminal
 Two to five players lay the land, place merchants, farmers and soldiers, and
 hide what their wolves are. Play alone against bots, or with friends over the
 network: one server runs the game and shows each player only what that player
 may know. The server can run as a service, which is off until it is enabled.
"""
_SCRIPTS: Final = {
    "postinst": """\
py3compile -p palatinus /usr/lib/palatinus
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true  # a service that does not start keeps nobody from installing this
    deb-systemd-invoke try-restart palatinus.service || true  # after an upgrade; all games go on
fi
""",
    "prerm": """\
py3clean -p palatinus
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop palatinus.service || true
    deb-systemd-invoke disable palatinus.service || true
fi
""",
    "postrm": """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "$1" = purge ]; then
    rm -rf /var/lib/palatinus /var/lib/private/palatinus
fi
""",
}
# Modules of other packages begin like scripts, and nobody runs them.
_OVERRIDES: Final = """\
palatinus: script-not-executable [usr/lib/palatinus/*]
palatinus: unusual-interpreter python [usr/lib/palatinus/*]
"""
_LICENCE: Final = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice)")
_NOTICE: Final = re.compile(r"(?im)^[ \t*]*(copyright (?:\(c\)|©|\d{4}).*)$")
_MANUAL: Final = """
from argparse_manpage.manpage import Manpage
from palatinus import build_parser
parser = build_parser()
list(parser.all_arguments())
page = Manpage(parser)
page.manual, page.description = "Games", "board game of the seven hills of Rome, in the terminal"
print(page)
"""


def build_package(wheel: Path, source: Path, to: Path, lock: Path) -> Path:
    """Build the package into this folder and return its file; two builds of a wheel are equal.

    It contains the packages that the lock names.
    """
    architecture = _output("dpkg", "--print-architecture").strip()
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, "palatinus")
        packages = top / "usr/lib/palatinus"
        _unpack_wheels(wheel, lock, packages)
        _write(top / "usr/bin/palatinus", _PROGRAM, mode=0o755)
        _write_generated(top, packages)
        unit = (source / "docs/examples/palatinus.service").read_text(encoding="utf-8")
        unit = unit.partition("\n")[2].replace("/opt/palatinus/bin/", "/usr/bin/")
        _write(top / "usr/lib/systemd/system/palatinus.service", unit)
        _write(top / "usr/share/lintian/overrides/palatinus", _OVERRIDES)
        documents = top / "usr/share/doc/palatinus"
        _write(documents / "copyright", _licences(packages, source))
        date = time.strftime("%a, %d %b %Y %T +0000", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
        change = f"palatinus ({version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz in this folder.\n"
        change += f"\n -- {_MAINTAINER}  {date}\n"
        _write(documents / "changelog.gz", change)
        for guide in _GUIDES:
            for file in filter(Path.is_file, source.glob(guide)):
                _write(documents / file.relative_to(source), file.read_text(encoding="utf-8"))
        _write(documents / "CHANGELOG.md.gz", (source / "CHANGELOG.md").read_text(encoding="utf-8"))
        size = sum(file.stat().st_size for file in top.rglob("*") if file.is_file()) // 1024
        control = _CONTROL.format(
            version=version, architecture=architecture, maintainer=_MAINTAINER, size=size
        )
        _write(top / "DEBIAN/control", control)
        for name, script in _SCRIPTS.items():
            _write(top / "DEBIAN" / name, f"#!/bin/sh\nset -e\n{script}", mode=0o755)
        package = to / f"palatinus_{version}_{architecture}.deb"
        _output("dpkg-deb", "--root-owner-group", "--build", str(top), str(package))
    return package


def _unpack_wheels(wheel: Path, lock: Path, to: Path) -> None:
    """Unpack the wheel and those of the lock, for each Python; their compiled modules differ in name."""
    machine = os.uname().machine
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in _GLIBC]
    with tempfile.TemporaryDirectory() as wheels:
        for python in _PYTHONS:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--no-deps"]
            what = [f"--python-version={python}", f"--platform=manylinux2014_{machine}", *platforms]
            subprocess.run([*pip, *what, "-d", wheels, "--require-hashes", "-r", lock], check=True)
        for each in [wheel, *sorted(Path(wheels).iterdir())]:
            zipfile.ZipFile(each).extractall(to)
    shutil.rmtree(to / "bin", ignore_errors=True)
    _output("strip", "--strip-unneeded", *map(str, to.rglob("*.so*")))


def _write_generated(top: Path, packages: Path) -> None:
    """Write the manual page and the completions, as the packaged program describes itself."""
    share = top / "usr/share"
    _write(share / "man/man1/palatinus.1.gz", _output(sys.executable, "-P", "-c", _MANUAL, path=packages))
    for shell, file in {
        "bash": "bash-completion/completions/palatinus",
        "zsh": "zsh/vendor-completions/_palatinus",
        "fish": "fish/vendor_completions.d/palatinus.fish",
    }.items():
        script = _output(sys.executable, "-P", "-m", "palatinus", "--print-completion", shell, path=packages)
        _write(share / file, script)


def _output(*command: str, path: Path | None = None) -> str:
    """Return what the command prints, in English and with `~` as the user's folder."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "~",
        "SOURCE_DATE_EPOCH": os.environ["SOURCE_DATE_EPOCH"],
    }
    if path is not None:
        environment |= {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def _licences(packages: Path, source: Path) -> str:
    """Return the licence, and what the packages say of theirs."""
    year = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])).tm_year
    lines = [
        f"Copyright {year} the Palatinus authors.",
        "",
        (source / "LICENSE").read_text(encoding="utf-8"),
        "The packages in /usr/lib/palatinus, with their licences' texts and their authors:",
        "",
    ]
    for file in sorted(packages.glob("*.dist-info/METADATA")):
        about = HeaderParser().parsestr(file.read_text(encoding="utf-8"))
        classified = (each for each in about.get_all("Classifier", ()) if each.startswith("License"))
        licence = about["License-Expression"] or about["License"] or next(classified, "none yet")
        licence = licence.splitlines()[0].rpartition(" :: ")[2]
        lines.append(f"{about['Name']} {about['Version']}: {licence}; {file.parent.name}")
        texts = sorted(
            each for each in file.parent.rglob("*") if each.is_file() and _LICENCE.match(each.name)
        )
        notices = (_NOTICE.findall(each.read_text(encoding="utf-8")) for each in texts)
        lines += [f"    {notice.strip()}" for notice in dict.fromkeys(chain.from_iterable(notices))]
    lines.append("The texts of the GPL and the LGPL are in /usr/share/common-licenses/GPL-2 and LGPL-2.1.")
    return "\n".join(lines) + "\n"


def _write(file: Path, text: str, *, mode: int = 0o644) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)
    file.chmod(mode)
