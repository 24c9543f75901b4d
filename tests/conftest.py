"""What all tests share."""

import asyncio
import contextlib
import gc
import importlib
import logging
import os
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

# Whatever is said of compiled code: without it, compiling is a third of what a program's start costs, and
# there are hundreds of starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
from hypothesis import HealthCheck, settings  # noqa: E402 - a large library, compiled once

# Whatever language the computer speaks, what the tests read is English.
os.environ["LANGUAGE"] = "en"
# Whatever this user's servers are configured to do, the servers of the tests are not.
os.environ["XDG_CONFIG_HOME"] = os.devnull
# Whatever network this computer is in, the servers of the tests are not announced there.
os.environ["PALATINUS_MULTICAST"] = "none"
# Wherever this computer is, the times that the tests read are UTC.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):  # Windows has none
    time.tzset()
from build_catalogues import compile_catalogues  # noqa: E402
from client.language import speak  # noqa: E402 - what it finds is said above
from tests.games import THOROUGH, USUAL  # noqa: E402

if TYPE_CHECKING:
    from tests.postgresql import SharedServer

# No deadline: on a busy machine time says nothing about the code.
for profile, count in (("palatinus", USUAL), ("thorough", THOROUGH)):
    settings.register_profile(
        profile,
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        database=None,
        derandomize=profile == "palatinus",  # the other profile looks for what nobody has found
    )
settings.load_profile("palatinus")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Compile what translators have changed since the installation, before any process reads it."""
    if not hasattr(config, "workerinput"):
        compile_catalogues()
    assert settings.default is not None
    if settings.default.max_examples == USUAL:
        _try_no_constants_of_ours()


def _try_no_constants_of_ours() -> None:
    """Leave it to the profile `thorough` to try the texts and numbers in the program's own source.

    There are thousands, and each process spends seconds on finding those that fit. With a Hypothesis
    that does this elsewhere they take longer.
    """
    with contextlib.suppress(ImportError):
        from hypothesis.internal.conjecture import providers

        providers._get_local_constants = lambda: providers._local_constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--uvloop", action="store_true", help="run the tests' event loops on uvloop")


def pytest_asyncio_loop_factories(
    config: pytest.Config,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return what makes the loops of all tests; servers in processes of their own choose for themselves."""
    if config.getoption("--uvloop"):
        import uvloop

        return {"uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes test at the same time: for half of its time a test waits for something.

    Each one more has to import and collect everything first.
    """
    return 2 * (os.cpu_count() or 1)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Share the work of compiling the tests between the processes, which all need all of them.

    Each process begins elsewhere in the list, and finds what others have compiled before.
    """
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    gc.disable()  # what is imported and collected stays: searching it for cycles takes a quarter of the time
    root = session.config.rootpath
    folders = [folder for each in session.config.args if (folder := root / each).is_dir()]
    names = [
        ".".join(path.relative_to(root).with_suffix("").parts)
        for folder in folders
        for path in sorted(folder.rglob("test_*.py"))
    ]
    first = len(names) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for name in names[first:] + names[:first]:
        with contextlib.suppress(
            Exception, pytest.skip.Exception
        ):  # what is wrong is reported when it is collected
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what all tests share: libraries and the tests themselves."""
    gc.freeze()
    gc.set_threshold(20_000)  # as the program does
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the tests that wait, which stand side by side, so that not all processes wait at once."""
    items.sort(key=lambda item: zlib.crc32(item.path.name.encode()))


Run: TypeAlias = Callable[..., tuple[str, str]]
Complain: TypeAlias = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Return what runs the command line, which has to exit with `code`: it returns output and errors.

    What the command line says of language and terminal would count for all tests that come after.
    """
    from client.player.terminal import DisplayOptions, choose_display
    from palatinus import main

    def run(*words: str | Path, code: int = 0) -> tuple[str, str]:
        try:
            found: object = main([str(word) for word in words])
        except SystemExit as ending:  # argparse's own
            found = ending.code or 0
        out, err = capsys.readouterr()
        assert found == code, (out, err)
        return out, err

    yield run
    choose_display(DisplayOptions())
    speak("en")


@pytest.fixture
def complain(run: Run) -> Complain:
    """Return what runs a command line that is wrong, and returns the one line that says why."""

    def complain(*words: str | Path) -> str:
        out, err = run(*words, code=2)
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("palatinus")
        return err

    return complain


@pytest.fixture
def in_language() -> Iterator[Callable[[str], None]]:
    """Return what changes the language of all texts, until the test is over."""
    yield speak
    speak("en")


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have games of an arena and analyses done here: a process of their own costs half a second to start."""

    async def work(function: Callable[..., Any], *arguments: object, **_options: object) -> Any:
        return function(*arguments)

    for module in ("client.bots.analysis", "client.bots.arena.games"):
        monkeypatch.setattr(f"{module}.in_process", work)


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Have the log go where it went before, once the test is over."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[SharedServer]":
    """Return the PostgreSQL server that all processes of this run share."""
    from tests.postgresql import SharedServer

    # Not in pytest's folder, which another run may remove as soon as this one ends.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    server = SharedServer(Path(tempfile.gettempdir(), f"palatinus-{run}"))
    yield server
    server.close()


@pytest.fixture
def database(postgresql: "SharedServer") -> str:
    """Return the URL of a database that has nothing of another test's."""
    return f"{postgresql.url()}&search_path=test_{uuid.uuid4().hex}"


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """Return a folder with a short name, as unix sockets need it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
