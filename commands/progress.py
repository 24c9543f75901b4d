"""How far a long command has come, shown while it works; nothing is shown where no terminal is."""

from typing import Any

from tqdm import tqdm

from client.language import _


def progress(label: str, total: int) -> "tqdm[Any]":
    """Return a bar on stderr, shown while its context lasts; call `update` after each of `total` steps."""
    form = "{desc} {bar} {n_fmt}/{total_fmt} " + _("time left") + " {remaining}{postfix}"
    return tqdm(desc=label, total=total, bar_format=form, leave=False, disable=None)
