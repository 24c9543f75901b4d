"""`python -m build_catalogues` compiles the catalogues that have changed: so do installations and tests."""

import os
from pathlib import Path
from typing import Final

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

_LANGUAGES: Final = Path(__file__).parent / "client" / "languages"


def compile_catalogues(languages: Path = _LANGUAGES) -> None:
    """Write what gettext reads beside each catalogue, unless it is there and as new."""
    for written in languages.glob("*/LC_MESSAGES/*.po"):
        compiled = written.with_suffix(".mo")
        if compiled.exists() and compiled.stat().st_mtime_ns >= written.stat().st_mtime_ns:
            continue
        with written.open("rb") as file:
            catalogue = read_po(file, locale=written.parts[-3])
        draft = compiled.with_name(f"{compiled.name}.{os.getpid()}")
        with draft.open("wb") as file:
            write_mo(file, catalogue)
        draft.replace(compiled)  # whoever reads it meanwhile has the old one, as a whole


if __name__ == "__main__":
    compile_catalogues()
