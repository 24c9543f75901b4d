"""Errors that keep a server from running, worded for its host."""

from pathlib import Path

from engine.errors import Explained


class HostError(Explained):
    """The host has to do something, and the sentence says what."""

    @property
    def reason(self) -> str:
        """Return why alone if the sentence gives a reason, otherwise the sentence."""
        return str(self.about.get("reason", self))


class StartError(HostError):
    """The server cannot start."""


class JournalError(HostError):
    """The journal cannot be used."""


class JournalInUse(JournalError):
    """Another process uses the journal."""


class NotStored(JournalError):
    """Something could not be stored; the journal has logged it."""


class NotStoredNow(NotStored):
    """Something could not be stored for the moment: what is missing is expected back by itself."""


class TableDamaged(JournalError):
    """A table is damaged and set aside; the others play on."""


class CodeTaken(JournalError):
    """Another server has a table with this code."""


class TableLost(JournalError):
    """This server has lost track of a table's state, so it must send nothing about it."""


def in_the_way(folder: Path) -> Path:
    """Return what is there in place of a folder, or of one above it."""
    return next(each for each in (folder, *folder.parents) if each.exists() or each.is_symlink())
