"""How far a long command has come, shown while it works; nothing is shown where no terminal is."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import ProgressBar
from prompt_toolkit.shortcuts.progress_bar import formatters

from client.language import _


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr while the context lasts; what it yields is called after each of `total` steps.

    Ctrl-C interrupts the command, as it would without a bar.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return

    parts = (
        formatters.Label(),
        formatters.Text(" "),
        formatters.Bar(),
        formatters.Text(" "),
        formatters.Progress(),
        formatters.Text(" " + _("time left") + " "),
        formatters.TimeLeft(),
    )
    # Keys come from an empty pipe: the terminal stays as it is, so that Ctrl-C is a signal.
    with create_pipe_input() as keys, ProgressBar(formatters=parts, input=keys, output=_output()) as bar:
        counter = bar(range(0), label=label, total=total, remove_when_done=True)
        try:
            yield counter.item_completed
        finally:
            counter.done = True


def _output() -> Output:
    output = create_output(sys.stderr)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # nobody would read the terminal's answer
    return output
