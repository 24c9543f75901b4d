"""The command line for records: what is written where, and errors of one line."""

import io
import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

import pexpect
import pytest

from client.finding.found import Found, FoundServer
from client.network.transport import FREE_ACCESS
from client.player.seats import Seats, seats_folder
from client.typed_text import BadText
from client.ui.draw.page import qr_rows
from commands.help import HELP
from commands.playing.join import goal_of
from commands.serving.options import ServeOptions
from commands.serving.serve import describe_evening, print_start, server_config
from engine.game import GameOptions
from engine.record import recorded
from palatinus import build_parser, main
from tests.cases import cases
from tests.conftest import Complain, Run
from tests.games import played
from tests.server.peer import TIMEOUT

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).parent / "engine" / "records" / "3-players.txt"


def test_exports_go_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form, in UTF-8 whatever the locale, which only standard output follows."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout := io.BytesIO(), encoding="ascii"))
    for form in ("svg", "text", "json"):
        assert main(["export", str(RECORD), f"--{form}", str(tmp_path / form)]) == 0
    assert ET.parse(tmp_path / "svg").getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert "┏━━" in (tmp_path / "text").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "json").read_bytes())["phase"] == "over"
    assert main(["export", str(RECORD), "--text", "-"]) == 0
    assert b"+--" in stdout.getvalue()


def test_exports_go_to_standard_output(run: Run) -> None:
    def exported(*words: str) -> str:
        return run("export", RECORD, *words)[0]

    told = json.loads(exported("--json", "-"))
    assert (told["move"], told["eyes"], told["phase"]) == (42, [0, 1, 2], "over")
    told = json.loads(exported("--json", "-", "--at", "42", "--eyes", "2"))
    assert (told["move"], told["eyes"], told["phase"]) == (42, [1], "placing")
    told = json.loads(exported("--json", "-", "--at", "0", "--eyes", "none"))
    assert (told["eyes"], told["hands"], told["phase"]) == ([], {}, "laying")
    assert exported("--json") == exported("--json", "-")
    assert exported("--text") == exported("--text", "-")
    assert exported("--text", "-", "--ascii").isascii()
    assert run("--ascii", "export", RECORD, "--text", "-")[0].isascii()


def test_looks_are_heard_before_and_after_the_command() -> None:
    """An option after the command counts, else one before it, else what the terminal reports."""

    def told(*words: str) -> tuple[bool, bool, str, str]:
        arguments = build_parser().parse_args(words)
        return arguments.ascii, arguments.confirm, arguments.theme, arguments.colours

    wanted = ("--ascii", "--confirm", "--theme", "light", "--colours", "16")
    for command in (["play"], ["learn"], ["join", "ws://127.0.0.1"]):
        assert told(*command) == (False, False, "auto", "auto")
        assert told(*wanted, *command) == told(*command, *wanted) == (True, True, "light", "16")
        assert told("--theme", "dark", *command, "--theme", "light")[2] == "light"
    for others in (["replay", "file"], ["export", "file", "--text", "-"], ["tables", "show", "KRTV"]):
        assert told("--ascii", *others)[0]


def test_wrong_positions_are_told_with_file_and_line(tmp_path: Path, complain: Complain) -> None:
    path = tmp_path / "positions.jsonl"
    path.write_bytes(b"\xff\xfe\n")
    assert complain("score", path) == f"palatinus: {path}: line 1: it is not UTF-8 text\n"
    path.write_text("nothing")
    assert complain("score", path) == f"palatinus: {path}: line 1: it is not JSON from column 1 on\n"


def test_a_record_is_checked(run: Run) -> None:
    result, draws = run("check", RECORD)[0].splitlines()
    assert result.endswith("a finished game; points: Seat 1 17, Seat 2 7, Seat 3 13; won by Seat 1")
    assert draws.startswith("The draws cannot be checked")


def test_no_terminal_acts_on_a_check_as_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a name that no table would accept came that far."""
    name = "\x9b2J\u202e\u200b\x1b[31m"
    monkeypatch.setattr("client.records.player_name", lambda _name, _seat: name)
    told = run("check", RECORD, "--json")[0]
    assert json.loads(told)["names"] == [name] * 3
    assert all(line.isprintable() for line in told.splitlines())


def test_the_draws_of_a_record_are_checked(tmp_path: Path, run: Run) -> None:
    """In words and as JSON; the exit code tells wrong draws from right or unknown ones."""
    text = recorded(played(GameOptions(3), 1, shared=True).events)
    running_game = recorded(played(GameOptions(3), 1, 5, shared=True).events)
    file = tmp_path / "record.txt"
    for content, finding, mismatch, words, code in (
        (text, "right", None, "The draws are right", 0),
        (re.sub("seed ..", "seed 00", text), "wrong", "seed", "DO NOT TRUST THE DRAWS", 1),
        (running_game, "unknown", None, "when the game is over", 0),
        (RECORD.read_text(encoding="utf-8"), "unknown", None, "cannot be checked", 0),
    ):
        file.write_text(content, encoding="utf-8")
        assert words in run("check", file, code=code)[code]
        told = json.loads(run("check", "--json", file, code=code)[0])
        assert (told["draws"], told["mismatch"]) == (finding, mismatch)
        assert (told["seed"] is None) == (finding == "unknown")
        assert len(told["shares"]) == (3 if "commitment" in content else 0)


@pytest.mark.parametrize(
    "command", [["check"], ["replay"], ["export", "--svg", "-"]], ids=lambda words: words[0]
)
def test_a_damaged_record_is_one_line(command: list[str], tmp_path: Path, complain: Complain) -> None:
    name, *options = command
    text = RECORD.read_text(encoding="utf-8")
    lines = text.splitlines()
    second = lines.index("1 places Sm* A1") + 1
    for content, words in (
        (text.replace("1 places Sm* A1", "1 places Sm* E2").encode(), (f"line {second}: E2 is taken",)),
        (text.rpartition("winners")[0].encode(), (f"line {len(lines)}: the record ends",)),
        (b"palatinus record 1\n\nplayers \xff\n", ("line 3: ", "UTF-8")),
        (b"", ("line 1: ",)),
    ):
        path = tmp_path / "record.txt"
        path.write_bytes(content)
        told = complain(name, path, *options)
        assert str(path) in told
        for word in words:
            assert word in told, told
    assert "nothing.txt: there is no" in complain(name, tmp_path / "nothing.txt", *options)


def test_a_terminal_that_shows_no_screen_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, complain: Complain
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "unknown")
    assert "a terminal of type unknown cannot show the game" in complain("play")


def test_a_program_without_input_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, complain: Complain) -> None:
    """As where whoever started it has closed that."""
    monkeypatch.setattr(sys, "stdin", None)
    assert "this needs a terminal" in complain("play")
    assert sys.stdin is not None
    sys.stdin.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", str(RECORD)], "+-----+-----+"),
        (["--lang", "fr", "check", str(RECORD)], "ne peuvent pas etre verifies"),
    ],
)
@pytest.mark.usefixtures("in_language")
def test_what_is_printed_suits_an_output_without_unicode(
    monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    """The board is drawn in ASCII, and accents are left out."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    assert main(words) == 0
    output.seek(0)
    assert told in output.read()


def test_the_doctor_says_what_a_report_needs_and_not_who_sends_it(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    for name, value in {
        "HOME": str(tmp_path / "anna"),
        "LOGNAME": "anna",
        "SSH_CONNECTION": "192.0.2.7 1234 192.0.2.8 22",
        "TERM": "xterm-256color\x1b[2J",
        "XDG_DATA_HOME": "/dev/null/anna/games",
        "XDG_STATE_HOME": str(tmp_path / "anna" / "state"),
    }.items():
        monkeypatch.setenv(name, value)
    told, _ = run("doctor")
    assert f" {sys.version.split()[0]}\n" in told
    assert "/dev/null/USER/games/palatinus, not writable, not made yet" in told
    assert "~/state/palatinus/seats, writable, not made yet" in told
    assert "SSH_CONNECTION is set" in told
    assert "asyncpg" in told
    for secret in ("anna", "192.0.2", "\x1b"):
        assert secret not in told


def test_a_mistake_of_ours_is_told_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the place in our own code, even if the error arose below it; a log has the traceback as well."""

    def failing(_text: str) -> None:
        json.loads("{")

    monkeypatch.setattr("commands.finished_games.records.replayed", failing)
    for in_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=in_terminal: answer, raising=False)
        _, told = run("check", RECORD, code=1)
        assert (told.count("\n") == 1) == in_terminal
        place = r"tests/test_palatinus\.py, line \d+"
        told_last = told.splitlines()[-1]
        assert re.match(rf"palatinus: Palatinus failed in {place}: JSONDecodeError: .* report", told_last)


@pytest.mark.slow
def test_without_its_packages_it_says_how_to_get_them(tmp_path: Path) -> None:
    """Python's own, run where nothing is installed; scoring needs nothing else."""
    bare = [sys.executable, "-I", "-S", "-c", _RUN_BARE]
    missing = subprocess.run([*bare, "bot", "ws://here"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2
    assert ".venv/bin/pip install -e ." in missing.stderr
    assert missing.stderr.count("\n") == 1
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    nothing = subprocess.run([*bare, "score", str(empty)], capture_output=True, text=True, check=False)
    assert (nothing.returncode, nothing.stderr.count("\n")) == (2, 1)
    assert "is empty" in nothing.stderr


def test_a_command_is_imported_when_it_is_chosen() -> None:
    """The help of all commands needs none of their modules, and no package."""
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from palatinus import main
try:
    main(["--help"])
except SystemExit:
    print(*(name for name in sys.modules if name.startswith("commands.")))
"""
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(told.stdout.splitlines()[-1].split()) == {"commands.help", "commands.parsing"}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["play", "join", "learn", "problems"])
def test_the_help_of_a_command_to_play_needs_no_game(command: str) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from palatinus import main
try:
    main([{command!r}, "--help"])
except SystemExit:
    print(*sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"prompt_toolkit", "websockets", "engine.game"}.isdisjoint(told.stdout.splitlines()[-1].split())


def every_command() -> dict[str, Any]:
    """Return the parsers by the words that choose them, without those that a chosen command adds."""
    found: dict[str, Any] = {}
    groups: list[Any] = [build_parser()]
    for group in groups:
        for commands in (each for each in group._actions if isinstance(each.choices, dict)):
            for command in commands.choices.values():
                found[command.prog.partition(" ")[2]] = command
                groups.append(command)
    return found


@pytest.mark.slow
def test_old_names_do_the_same_and_the_overview_has_the_new_ones(run: Run) -> None:
    overview = run("--help")[0]
    for name in ("show", "replay", "export", "analyse", "check"):
        assert f"\n  {name} " not in overview
        assert f"\n  {name} " in run("record", "--help")[0]
        told = run("record", name, "--help")
        assert told == run(name, "--help") == run("help", name)
        assert told[0].startswith(f"usage: palatinus record {name} [OPTIONS]")
    assert "\n  record " in overview
    assert run("arena", "--help") == run("league", "--help")
    assert "\n  arena " in overview
    assert "\n  league " not in overview
    for words in (["show", RECORD], ["check", "--json", RECORD], ["export", RECORD, "--svg", "-"]):
        assert run("record", *words) == run(*words)


@pytest.mark.slow
def test_every_command_ends_its_help_with_examples_that_work(run: Run) -> None:
    """`--help` has everyday options, which exist, and `--help-all` every option."""
    commands = every_command()
    assert set(HELP) == {"", *commands} - {"doctor", "help"}
    for name, shown in HELP.items():
        assert 2 <= len(shown.examples) <= 3
        for words, _meaning in shown.examples:
            program, *given = shlex.split(words)
            assert program == "palatinus"
            if not {"help"} & {*given}:
                build_parser().parse_args(given)
        known = {
            option
            for argument in (build_parser() if not name else commands[name]).all_arguments()
            for option in argument.option_strings
        }
        assert shown.everyday is None or shown.everyday <= known, name
        told, told_in_full = (run(*name.split(), option)[0] for option in ("--help", "--help-all"))
        assert told.startswith(f"usage: palatinus {name} [OPTIONS]".replace("  ", " "))
        assert shown.examples[-1][0] in told
        for option in (*(shown.everyday or ()), "--help-all"):
            assert f" {option}" in told
        assert not name or "--lang" not in told
        assert "--lang" in told_in_full


def test_every_argument_says_what_it_is_for() -> None:
    for name, command in every_command().items():
        for argument in command.all_arguments():
            assert argument.help or isinstance(argument.choices, dict), (name, argument)


@pytest.mark.slow
def test_no_command_needs_a_package_that_is_an_extra() -> None:
    """Unless an option asks for it."""
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from importlib import import_module
from palatinus import _COMMANDS
extras = "asyncpg", "asyncssh", "gymnasium", "opentelemetry", "pettingzoo", "uvloop"
sys.modules.update(dict.fromkeys(extras))
for module in {{module for _words, module, _meaning in _COMMANDS if module}}:
    import_module(f"commands.{{module}}")
for module in "play", "join", "learn", "league":
    import_module(f"commands.playing.{{module}}")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


_RUN_BARE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from palatinus import main; sys.exit(main())"


@pytest.mark.parametrize(("words", "answer"), cases(__file__, "wrong_use"))
def test_wrong_use_is_one_line(words: str, answer: str, complain: Complain) -> None:
    """It says what may be meant, or what is possible; an option counts only in full."""
    words, answer = (
        text.replace("RECORD", str(RECORD)).replace("ROOT", str(ROOT)) for text in (words, answer)
    )
    assert answer in complain(*shlex.split(words))


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["-V"], ["--version"]),
        (["help"], ["--help"]),
        (["help", "tables", "export"], ["tables", "export", "--help"]),
    ],
)
def test_help_and_version_are_output(words: list[str], same: list[str], run: Run) -> None:
    out, err = run(*words)
    assert (out, err) == run(*same)
    assert out
    assert not err


def test_what_a_host_is_told_breaks_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told() -> list[str]:
        print_start(["ws://192.0.2.7:7733"], None, [], web=False, open_to_all=True)
        return capsys.readouterr().out.splitlines()

    piped = told()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = told()
    assert len(piped) == 3
    assert max(map(len, shown)) <= 80
    assert " ".join(" ".join(shown).split()) == " ".join(" ".join(piped).split())


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "palatinus admin evening"),
        ({"data": Path("/srv/a b")}, "palatinus admin --data '/srv/a b' evening"),
        ({"admin_socket": Path("/run/p")}, "palatinus admin --admin-socket /run/p evening"),
        ({"memory": True}, None),
        ({"admin": False}, None),
    ],
)
def test_an_evenings_host_is_told_commands_that_reach_this_server(
    options: dict[str, Any], command: str | None
) -> None:
    """How a round is drawn if there are rounds, and the page where browsers can come, if that works."""
    for rounds, web, acts in (2, True, ["draw", "host"]), (None, True, ["host"]), (2, False, ["draw"]):
        chosen = ServeOptions(evening="Friday", evening_rounds=rounds, web=web, **options)
        told = [
            line.strip() for line in describe_evening(server_config(chosen), chosen) if line.startswith(" ")
        ]
        assert told == ([] if command is None else [f"{command} {act}" for act in acts])


def test_a_host_is_shown_a_code_for_phones_and_the_television(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code only where somebody can see it."""

    def told() -> list[str]:
        addresses = ["ws://192.0.2.7:7733", "ws://127.0.0.1:7733"]
        print_start(addresses, None, [], web=True, open_to_all=False)
        return capsys.readouterr().out.splitlines()

    piped = told()
    assert "A television leads everybody through the games at http://192.0.2.7:7733/tv" in piped
    assert not any("█" in each for each in piped)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code = [each.strip() for each in told() if "█" in each]
    assert code == [row.strip() for row in qr_rows("http://192.0.2.7:7733/") if "█" in row]


def test_a_folder_with_the_name_of_a_package_is_not_taken_for_it(tmp_path: Path) -> None:
    """With `python -m palatinus`, which looks in the current folder first, nor an installed package."""
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "__init__.py").write_text("raise SystemExit('not ours')", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "palatinus", "-V"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("palatinus ")


@pytest.mark.parametrize(
    ("shell", "start"),
    [
        ("bash --norc -i", 'eval "$(<{script})"'),
        pytest.param(
            "zsh -f -i", 'autoload -U compinit; compinit -D; eval "$(<{script})"', marks=pytest.mark.slow
        ),
        pytest.param("fish -N -i", "source {script}", marks=pytest.mark.slow),
    ],
)
def test_shells_complete_commands_options_and_files(shell: str, start: str, tmp_path: Path, run: Run) -> None:
    name = shell.partition(" ")[0]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "script").write_text(run("--print-completion", name)[0], encoding="utf-8")
    (tmp_path / "games").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm"}
    typing = pexpect.spawn(shell, cwd=tmp_path, env=environment, encoding="utf-8", timeout=TIMEOUT)
    try:
        typing.sendline(start.format(script="script") + "; echo rea''dy")
        typing.expect_exact("ready")
        for typed, completed in (("palatinus history stan", "dings"), ("--rec", "ords"), ("ga", "mes")):
            typing.send(f"{typed}\t")
            typing.expect_exact(completed)
    finally:
        typing.close(force=True)


def test_a_service_needs_no_home_folder(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def unknown(_user: int) -> NoReturn:
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "here")  # so that it is as before in the end
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert "/.local/share/palatinus" in run("serve", "--help")[0]


def test_the_code_of_a_table_with_a_kept_seat_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a search, and to a private table too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for server, code in (("ws://192.0.2.7:7733", "KXQT"), ("wss://example.org", "SECRETLY")):
        Seats(seats_folder(), server).keep(code, 0, "Anna", "token").release()
    assert goal_of("kxqt", None, FREE_ACCESS) == ("ws://192.0.2.7:7733", "KXQT")
    assert goal_of("SECRETLY", None, FREE_ACCESS) == ("wss://example.org:7733", "SECRETLY")
    assert goal_of("localhost", "KXQT", FREE_ACCESS) == ("ws://localhost:7733", "KXQT")


def test_a_name_that_no_server_has_is_answered_with_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name without a dot is no internet address: no connection is tried, and no name server blamed."""

    there: list[str] = []

    async def locate(
        _name: str, _access: object, _seconds: float, _code: str | None, hear: Callable[[Found], None]
    ) -> None:
        hear(Found(tuple(FoundServer(name, f"ws://192.0.2.{at}:7733") for at, name in enumerate(there))))

    monkeypatch.setattr("commands.playing.join.locate", locate)
    monkeypatch.setattr("commands.playing.join._has_address", lambda name: name == "cellar")
    for servers, told in ((("vm", "garden"), "Found: vm and garden"), ((), "no server called attic answers")):
        there[:] = servers
        with pytest.raises(BadText) as refused:
            goal_of("attic", None, FREE_ACCESS)
        assert told in str(refused.value)
    assert goal_of("cellar", None, FREE_ACCESS)[0] == "ws://cellar:7733"
    assert goal_of("attic.example.org", None, FREE_ACCESS)[0] == "ws://attic.example.org:7733"
