"""The configuration file of `palatinus serve`: every option, checked strictly, and printed as it is used."""

import argparse
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.bots.brains import LEVELS
from client.language import WrongUse
from client.network.connection import open_connection
from commands.parsing import Parser
from commands.serving import options
from commands.serving.notices import postman
from commands.serving.serve import add_serve, server_config
from server.net.postman import NoticePostman, SmtpServer
from tests.cases import cases
from tests.conftest import Complain, Run
from tests.games import examples
from tests.server.process import serving

COMMAND_LINE_ALONE = {"help", "help_all", "config", "no_config", "print_config"}


def serve_command() -> argparse.ArgumentParser:
    command = Parser()
    add_serve(command)
    return command


def chosen(words: list[str], text: str, folder: Path) -> options.ServeOptions:
    """Return what a command line and the text of a file in `folder` set together."""
    file = folder / "serve.toml"
    file.write_text(text, encoding="utf-8")
    return options.options_in(options.read_settings(serve_command().parse_args(words), file))


def mistakes(text: str, folder: Path) -> str:
    with pytest.raises(WrongUse) as error:
        chosen([], text, folder)
    return str(error.value).replace(str(folder / "serve.toml"), "FILE")


def test_every_option_has_a_key() -> None:
    """Whoever adds an option to the command line has added it to the file."""
    command = serve_command()
    dests = {action.dest for action in command._actions} - COMMAND_LINE_ALONE
    assert {option.name for option in options.serve_options()} == dests


def values(option: options.Option) -> st.SearchStrategy[Any]:
    """Return values of an option as a file has them."""
    if option.choices:
        return st.sampled_from(option.choices)
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
    if option.kind is list:
        text = st.sampled_from(["192.0.2.7", "192.0.2.0/24", "::1", "2001:db8::/32"])
    if option.key == "notify":
        text = st.sampled_from(["mail", "url", "mail:example.org", "url:ntfy.lan:8080"])
    if option.key == "smtp":
        text = st.sampled_from(["smtp://ann@mail.example.org", "smtps://127.0.0.1:4650"])
    if option.key in {"stand-in", "evening-bots"}:
        text = st.sampled_from(list(LEVELS))
    if option.key == "name":
        text = st.sampled_from(["attic", 'Anna\'s "attic"', "mansarde 2", "чердак"])
    kinds: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(1, 65535),
        float: st.floats(0.01, 1),
        list: st.lists(text, min_size=1),
    }
    return kinds.get(option.kind, text.filter(lambda path: not path.startswith("~")))


@examples(2)
@given(st.data())
def test_what_is_printed_is_read_as_the_same(data: st.DataObject) -> None:
    """Whatever options are set, in a file or on the command line, and from wherever they come."""
    command = serve_command()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        groups = set()
        words: list[str] = []
        for option in options.serve_options():
            if data.draw(st.booleans(), label=f"set {option.key}") and option.only not in groups:
                groups.update({option.only} - {""})
                value = data.draw(values(option), label=option.key)
                if option.kind is bool:
                    words.append(f"--{option.key}" if value else f"--no-{option.key}")
                else:
                    given = value if option.kind is list else [value]
                    words += [f"--{option.key}={each}" for each in given]
        first = options.read_settings(command.parse_args(words), None)
        file = folder / "printed.toml"
        file.write_text("\n".join(options.toml_lines(first)), encoding="utf-8")
        second = options.read_settings(command.parse_args([]), file)
        assert absolute(first) == absolute(second)
        file.write_text("\n".join(options.toml_lines(second)), encoding="utf-8")
        assert second == options.read_settings(command.parse_args([]), file)


def absolute(found: list[Any]) -> dict[str, Any]:
    return {
        setting.option.key: Path(setting.value).absolute()
        if isinstance(setting.value, Path)
        else setting.value
        for setting in found
    }


def test_the_command_line_wins_over_the_file_and_that_over_the_defaults(tmp_path: Path) -> None:
    text = "port = 1\nrate = 2\nverbose = true\nmemory = true\n"
    found = chosen(["--port", "7733", "--no-verbose", "--data", "there"], text, tmp_path)
    assert (found.port, found.rate, found.verbose, found.max_tables) == (7733, 2, False, 500)
    assert (found.memory, found.data) == (False, Path("there"))
    assert chosen(["--memory"], 'data = "here"', tmp_path).data is None
    assert chosen(["--no-memory"], 'data = "here"', tmp_path).data == tmp_path / "here"
    assert chosen([], 'memory = false\ndata = "here"', tmp_path).memory is False


def test_how_much_is_kept_can_be_chosen(tmp_path: Path) -> None:
    """Of a folder that nobody has named, the latest records; of one that somebody has, all."""
    for words, most, days in (
        ([], 10_000, None),
        (["--records", "there"], None, None),
        (["--records", "there", "--records-kept", "5"], 5, None),
        (["--records-kept", "5", "--records-days", "30"], 5, 30),
    ):
        config = server_config(chosen(words, "archive = 300", tmp_path))
        assert (config.most_records, config.records_days) == (most, days)
        assert config.limits.archived_tables == 300


def test_records_that_are_not_to_be_kept_are_written_nowhere(tmp_path: Path) -> None:
    """Of --records and --no-history only one is in use, wherever they come from."""
    assert chosen(["--no-history"], 'records = "here"', tmp_path).records is None
    found = chosen(["--records", "there"], "history = false", tmp_path)
    assert (found.records, found.history) == (Path("there"), None)
    assert "exclude each other" in mistakes('history = false\nrecords = "here"', tmp_path)


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the server is started; `~` is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = chosen([], 'records = "records"\ndata = "~/games"\ntls-cert = "/cert.pem"', tmp_path)
    assert (found.records, found.tls_cert) == (tmp_path / "records", Path("/cert.pem"))
    assert found.data == tmp_path / "home" / "games"


@pytest.mark.parametrize(("text", "mistake"), cases(__file__, "mistakes"))
def test_a_mistake_is_told_with_its_line(text: str, mistake: str, tmp_path: Path) -> None:
    """In one sentence that names the key."""
    assert mistakes(text.replace(r"\n", "\n"), tmp_path).startswith(f"FILE, {mistake}")


def test_no_terminal_acts_on_what_a_file_says(tmp_path: Path, complain: Complain, run: Run) -> None:
    """The file may be a stranger's."""
    file = tmp_path / "strange.toml"
    for line in (r'"po\u001b[31m\u0007rt" = 1', '"\u202eport" = 1', 'host = ["\u009b2J\u200b"]'):
        file.write_text(line, encoding="utf-8")
        assert complain("serve", "--config", file).removesuffix("\n").isprintable()
    file.write_text('records = "\u202e\U000e0041x"', encoding="utf-8")
    out, _ = run("serve", "--config", file, "--print-config")
    assert all(line.isprintable() for line in out.splitlines())
    assert tomllib.loads(out)["records"] == str(tmp_path / "\u202e\U000e0041x")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """In their lines, whatever is above them; a value may have several lines."""
    text = '# a comment\nhost = """\nport = 1\n"""\n\nprot = 1\nrate = 0 # none\n"max-tables" = [\n1,\n]\n'
    lines = mistakes(text, tmp_path).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["FILE, line 6", "FILE, line 7", "FILE, line 8"]
    lines = mistakes('[a]\nb = """\n[b]\n"""\nc = 1\n[[b]]\n[c.d]\n', tmp_path).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["FILE, line 1", "FILE, line 6", "FILE, line 7"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"host = '\xff'", "it is not UTF-8 text"),
        (b"#" * 70_000, "it is longer than 65536 bytes"),
        (b"x = " + b"[" * 20_000, "not TOML"),
        (b"port = " + b"1" * 5000, "not TOML"),
    ],
)
def test_an_unreadable_file_is_told_in_one_line(
    content: bytes, reason: str, tmp_path: Path, complain: Complain
) -> None:
    file = tmp_path / "serve.toml"
    file.write_bytes(content)
    assert reason in complain("serve", "--config", file)
    assert "missing" in complain("serve", "--config", tmp_path / "missing")


async def test_a_server_is_configured_by_a_file(tmp_path: Path) -> None:
    """And says where its configuration comes from, even if it was found in the usual place."""
    file = tmp_path / "serve.toml"
    text = 'durable = "full"\ndata = "games"\nbots = false\nlobby-chat = false\n'
    file.write_text(text, encoding="utf-8")
    async with serving("--config", str(file)) as server:
        assert f"The configuration is from {file}." in server.announced
        assert (tmp_path / "games" / "palatinus.sqlite3").exists()
        async with open_connection(f"ws://127.0.0.1:{server.port}") as client:
            assert client.levels == ()  # no bots can be seated
            assert not client.has_lobby


def test_the_usual_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Unless another one is given, or none is wanted."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path)
    (tmp_path / "serve.toml").write_text("port = 4711", encoding="utf-8")
    (tmp_path / "other.toml").write_text("port = 4712", encoding="utf-8")
    for words, port in ((), 4711), (("--no-config",), 7733), (("--config", f"{tmp_path}/other.toml"), 4712):
        assert f"\nport = {port}  # " in run("serve", "--print-config", *words)[0]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may look everywhere")
def test_a_home_that_cannot_be_looked_into_has_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """As systemd hides homes from its services."""
    (tmp_path / "hidden").mkdir(mode=0)
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "hidden" / "palatinus")
    assert "port = 7733" in run("serve", "--print-config")[0]


def test_a_configuration_that_contradicts_itself_is_not_printed(tmp_path: Path, complain: Complain) -> None:
    (tmp_path / "serve.toml").write_text('memory = true\ndurable = "full"', encoding="utf-8")
    assert "leave out one" in complain("serve", "--print-config", "--config", tmp_path / "serve.toml")


def test_players_are_called_as_the_options_say(run: Run, tmp_path: Path) -> None:
    """Through the whole command line, where clients have an option --notices."""
    (tmp_path / "password").write_text("secret\n", encoding="utf-8")
    mail = ["--notify", "mail", "--smtp", "smtps://ann@mail.example.org", "--smtp-from", "ann@example.org"]
    words = [*mail, "--notify", "url:ntfy.sh", "--smtp-password-file", str(tmp_path / "password")]
    assert 'notify = ["mail", "url:ntfy.sh"]' in run("serve", "--no-config", "--print-config", *words)[0]
    sender = postman(options.options_in(options.read_settings(serve_command().parse_args(words), None)))
    assert isinstance(sender, NoticePostman)
    assert sender.kinds == ["mail", "url"]
    wanted = SmtpServer("mail.example.org", 465, "ann@example.org", "ann", "secret", implicit_tls=True)
    assert sender.smtp == wanted
    assert "secret" not in repr(wanted)
    with pytest.raises(WrongUse):
        postman(
            options.options_in(options.read_settings(serve_command().parse_args(["--notify", "mail"]), None))
        )
