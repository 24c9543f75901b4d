"""The key by which guests' ssh programs know this host again."""

import os
import secrets
import sys
from pathlib import Path

import asyncssh

from client.language import _
from commands.parsing import CANNOT_USE, WrongUse, using_file


def host_key(path: Path) -> asyncssh.SSHKey:
    """Return the key in the file, which is made at the first start; raises WrongUse if that cannot be."""
    try:
        with using_file(CANNOT_USE, path):
            if not path.exists():
                _create(path)
            if sys.platform != "win32" and path.stat().st_mode & 0o077:
                path.chmod(0o600)
            return asyncssh.read_private_key(path)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        reason = _(
            "it is not an ssh key, or it has a passphrase. Move it out of the way, and a new one "
            "will be created"
        )
    raise WrongUse(_(CANNOT_USE).format(file=path, reason=reason))


def _create(path: Path) -> None:
    """Make the file, there as a whole or not at all; one that another process has made meanwhile stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
