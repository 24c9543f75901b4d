"""Errors that keep a server from running, worded for its host."""


class HostError(Exception):
    """The host has to do something, and the sentence says what.

    It is `text` filled in with the facts `about`; a translation needs both.
    """

    def __init__(self, text: str, **about: object) -> None:
        super().__init__(text.format(**about))
        self.text = text
        self.about = about


class StartError(HostError):
    """The server cannot start."""


class JournalError(HostError):
    """The journal cannot be used."""


class NotStored(JournalError):
    """Something could not be stored; the journal has logged it."""


class TableDamaged(JournalError):
    """A table is damaged and set aside; the others play on."""
