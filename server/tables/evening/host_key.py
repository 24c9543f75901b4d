"""What makes a browser the page of an evening's host: a token, whose hash the server keeps in a file."""

import asyncio
from pathlib import Path
from typing import Final

from server.net.tokens import hash_fits, new_token, token_hash
from server.tables.private_file import replace_private_file

FILE_NAME: Final = "evening-host"


class HostKey:
    """The key of the host's page, if there is one; without a folder it ends with the process."""

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE_NAME
        self._hash = "" if self._file is None else _read(self._file)

    async def renew(self) -> str:
        """Return a token that fits from now on, in place of the one before; raises OSError."""
        token = new_token()
        renewed = token_hash(token)
        if self._file is not None:
            await asyncio.to_thread(replace_private_file, self._file, renewed.encode())
        self._hash = renewed
        return token

    def fits(self, token: str) -> bool:
        return hash_fits(token_hash(token), self._hash)


def _read(file: Path) -> str:
    """Return the hash in a file, or what no token fits: then the host asks for another one."""
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
