"""What a brain's author is told when the brain fails: the file, the line and the error."""

import traceback

from client.language import _


def describe_failure(name: str, error: Exception, own: str | None) -> str:
    """Return that the brain `name` failed, and where: in its file `own`, if the error passed through it."""
    file, line = _origin(error, own)
    text = _("The brain {name} failed in {file}, line {line}: {error}.")
    return text.format(name=name, file=file, line=line, error=_error(error))


def _origin(error: Exception, own: str | None) -> tuple[str, int]:
    if isinstance(error, SyntaxError) and error.filename is not None:
        return error.filename, error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((each for each in reversed(frames) if each.filename == own), frames[-1])
    return frame.filename, frame.lineno or 0


def _error(error: Exception) -> str:
    if isinstance(error, SyntaxError):  # which is printed with the line and a mark under it
        return f"{type(error).__name__}: {error.msg}"
    return "".join(traceback.format_exception_only(error)).strip()
