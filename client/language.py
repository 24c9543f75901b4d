"""The language of everything a person reads: gettext catalogues, chosen by the locale or by name.

Texts are marked with `_` where they are made, with `counted` where a number decides their form, and with
`N_` in tables that are made before the language is known (and go through `_` when they are shown).
"""

import contextlib
import errno
import functools
import gettext
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, Final

DOMAIN: Final = "palatinus"
CATALOGUES: Final = Path(__file__).parent / "languages"
LANGUAGES: Final = ("en", *sorted(each.parent.name for each in CATALOGUES.glob("*/LC_MESSAGES")))
_IN_ORDER_OF_WEIGHT: Final = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # as gettext asks them

_current: gettext.NullTranslations = gettext.NullTranslations()
_spoken = "en"
_for_a_while: ContextVar[gettext.NullTranslations | None] = ContextVar("language", default=None)


class WrongUse(Exception):
    """What the user wants cannot be done, for the reason in the text."""


def _(text: str) -> str:
    """Return the text in the language in use."""
    # To gettext, the empty text is the catalogue's header.
    return _translations().gettext(text) if text else ""


def counted(singular: str, plural: str, number: int) -> str:
    """Return the form of the text that fits `number`, in the language in use."""
    return _translations().ngettext(singular, plural, number)


def N_(text: str) -> str:  # noqa: N802 - gettext's own name for it
    """Mark a text that is translated when it is shown."""
    return text


OWN_NAME: Final = N_("English")  # each language says its own name for itself

_SYSTEM_ERRORS: Final = {
    os.strerror(code): text
    for code, text in (
        (errno.ENOENT, N_("there is no such file or folder")),
        (errno.EACCES, N_("permission denied")),
        (errno.EPERM, N_("the system does not allow it")),
        (errno.EISDIR, N_("it is a folder")),
        (errno.ENOTDIR, N_("part of the path is not a folder")),
        (errno.EEXIST, N_("it exists already")),
        (errno.ENOSPC, N_("the disk is full")),
        (errno.EROFS, N_("it is read-only")),
        (errno.EIO, N_("the disk reports an error")),
        (errno.EMFILE, N_("too many files are open")),
        (errno.ENAMETOOLONG, N_("the name is too long")),
        (errno.EAGAIN, N_("it is in use in another window")),  # a lock
        (errno.EADDRINUSE, N_("another program is using this address")),
        (errno.EADDRNOTAVAIL, N_("this computer does not have this address")),
        (errno.ECONNREFUSED, N_("nothing answers there")),
        (errno.ENETUNREACH, N_("the network cannot be reached")),
    )
} | {
    "Name or service not known": N_("no computer has this name"),
    "Temporary failure in name resolution": N_("no name server answers"),
}


def describe_reason(reason: object) -> str:
    """Return why something failed, in the language in use; the system's own words if unknown."""
    if isinstance(reason, OSError):
        reason = os.strerror(reason.errno) if reason.errno and reason.errno > 0 else reason.strerror or reason
    text = str(reason)
    return _(_SYSTEM_ERRORS.get(text, text))


CANNOT_READ: Final = N_("cannot read {file}: {reason}")
CANNOT_WRITE: Final = N_("cannot write {file}: {reason}")
CANNOT_USE: Final = N_("cannot use {file}: {reason}")


@contextlib.contextmanager
def using_file(text: str, file: object) -> Iterator[None]:
    """Turn what goes wrong with a file into WrongUse with this text, such as `CANNOT_READ`."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        reason = describe_reason(error) if isinstance(error, OSError) else _("it is not UTF-8 text")
        raise WrongUse(_(text).format(file=file, reason=reason)) from error


def yes_letters() -> frozenset[str]:
    """Return the letters that say yes: that of the language in use, and that of English."""
    return frozenset({_("y"), "y"})


def listed(words: Iterable[str]) -> str:
    *first, last = list(words) or [""]
    return _("{first} and {last}").format(first=", ".join(first), last=last) if first else last


def labelled(label: str, text: str) -> str:
    """Return `label: text`, with the space that the language puts before a colon."""
    return _("{label}: {text}").format(label=label, text=text)


def in_tenths(number: float) -> str:
    """Return a number with one decimal place, as the language writes it."""
    whole, tenths = f"{number:.1f}".split(".")
    return _("{whole}.{tenths}").format(whole=whole, tenths=tenths)


def parted(parts: Iterable[str]) -> str:
    """Return the parts of a sentence with semicolons between them."""
    form = _("{first}; {second}")
    first, *others = list(parts) or [""]
    return functools.reduce(lambda text, part: form.format(first=text, second=part), others, first)


def prose(file: Path) -> list[list[str]]:
    """Return the texts of each page in a file of prose: a line of hyphens ends a page, an empty line a text.

    A paragraph that is indented goes on with the text before it.
    """
    pages = file.read_text(encoding="utf-8").split("\n----\n")
    texts = (re.split(r"\n\n(?=\S)", page.strip()) for page in pages)
    return [
        ["\n\n".join(" ".join(part.split()) for part in text.split("\n\n")) for text in page]
        for page in texts
    ]


def prose_messages(
    file: BinaryIO, *_marks: object, **_options: object
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Yield the texts in a file of prose for Babel; what stands in braces is for the program."""
    for page in prose(Path(file.name)):
        yield from ((1, None, text, []) for text in page if not text.startswith("{"))


def speak(language: str) -> None:
    """Use one of LANGUAGES from here on; only its own catalogue is read."""
    global _current, _spoken  # noqa: PLW0603 - a process has one player, who reads one language
    _spoken = language
    _current = _catalogue(language)
    # argparse looks for its own words in gettext's global domain.
    os.environ["LANGUAGE"] = language
    gettext.bindtextdomain(DOMAIN, str(CATALOGUES))
    gettext.textdomain(DOMAIN)


@contextlib.contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use one of LANGUAGES in this task or thread alone, while the context lasts: for a reader elsewhere."""
    token = _for_a_while.set(_catalogue(language))
    try:
        yield
    finally:
        _for_a_while.reset(token)


def _translations() -> gettext.NullTranslations:
    return _for_a_while.get() or _current


@functools.cache
def _catalogue(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, CATALOGUES, [language], fallback=True)


def current_language() -> str:
    return _spoken


def language_among(wanted: Iterable[str]) -> str:
    """Return the first of LANGUAGES among language tags, English if there is none: `fr-BE` is French."""
    spoken = (tag.strip().partition("-")[0].lower() for tag in wanted)
    return next((language for language in spoken if language in LANGUAGES), "en")


def language_of(environment: Mapping[str, str] = os.environ) -> str:
    """Return the first of LANGUAGES that the locale asks for, English if it asks for none."""
    asked = next((value for name in _IN_ORDER_OF_WEIGHT if (value := environment.get(name))), "")
    for locale in asked.split(":"):
        if (language := locale.partition("_")[0].partition(".")[0].lower()) in LANGUAGES:
            return language
    return "en"
