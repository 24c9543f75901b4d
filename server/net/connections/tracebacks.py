"""Errors that outlive what they happened to."""


def drop_traceback(error: BaseException | None) -> None:
    """Forget where an error and its causes were raised, whose frames would keep all that they know alive."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
