"""Where the admin socket is: private, never stolen, and replaced when a killed server left it."""

import os
import socket
import stat
from pathlib import Path

import pytest

from server.admin.endpoint import SOCKET_NAME, NoServer, connect_to, listen_at
from server.app import running
from server.config import Config
from server.errors import StartError
from tests.server.process import refused_to_start, serving


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def speaks(path: Path) -> bool:
    """Tell whether a socket listens there."""
    try:
        connect_to(path, 1.0)[0].close()
    except NoServer:
        return False
    return True


def test_only_its_owner_can_open_the_socket(tmp_path: Path) -> None:
    """Whatever the umask; the folder that is made for it is private as well."""
    path = tmp_path / "new" / SOCKET_NAME
    before = os.umask(0)
    try:
        with listen_at(path):
            assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    finally:
        os.umask(before)
    assert not path.exists()


def test_another_user_cannot_ask(tmp_path: Path) -> None:
    """The permissions of the socket alone keep strangers away, also in a folder that all can enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    tmp_path.chmod(0o755)
    path = Path(f"/tmp/palatinus-test-{os.getpid()}.sock")  # noqa: S108 - the way to tmp_path is closed
    with listen_at(path):
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            try:
                socket.socket(socket.AF_UNIX).connect(str(path))
            except PermissionError:
                os._exit(13)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 13
    path.with_name(f"{path.name}.lock").unlink()


def test_a_live_socket_is_not_stolen(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with listen_at(path):
        with (
            pytest.raises(StartError, match=r"another server is using .* choose another --data "),
            listen_at(path),
        ):
            pass
        assert speaks(path)


def test_the_socket_of_a_server_that_came_later_is_left_alone(tmp_path: Path) -> None:
    """As when the folder was moved away under a server, and another one was started in a new folder."""
    path = tmp_path / "data" / SOCKET_NAME
    with listen_at(path):
        path.parent.rename(tmp_path / "elsewhere")
        later = listen_at(path)
        later.__enter__()
    assert speaks(path)
    later.__exit__(None, None, None)
    assert not path.exists()


def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 30) / ("deep" * 20) / SOCKET_NAME
    assert len(os.fsencode(path)) > 108
    with listen_at(path):
        assert speaks(path)
    assert not speaks(path)


@pytest.mark.parametrize("kind", ["file", "folder", "symlink"])
def test_what_is_not_a_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    """The server does not start, and says so; the target of a link is not touched either."""
    path, target = tmp_path / SOCKET_NAME, tmp_path / "precious"
    target.write_text("precious")
    match kind:
        case "file":
            path.write_text("mine")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(target)
    with pytest.raises(StartError, match="not an admin socket"), listen_at(path):
        pass
    assert target.read_text() == "precious"
    assert path.is_symlink() == (kind == "symlink")


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    (tmp_path / f"{SOCKET_NAME}.lock").symlink_to(target)
    with pytest.raises(StartError, match="cannot listen"), listen_at(tmp_path / SOCKET_NAME):
        pass
    assert not target.exists()


async def test_a_server_without_a_data_folder_listens_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    async with serving("--memory", "--admin-socket", str(path)):
        assert speaks(path)
        code, complaint = await refused_to_start("--memory", "--port", "0", "--admin-socket", str(path))
        assert (code, complaint.count("\n")) == (2, 1)
        assert "another server is using the admin socket" in complaint
    code, complaint = await refused_to_start("--memory", "--admin")
    assert code == 2
    assert "--admin-socket" in complaint


def test_a_private_file_tells_port_and_token_where_there_are_no_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with listen_at(path, by_unix_socket=False) as endpoint:
        assert mode(path) == 0o600
        connection, token = connect_to(path, 1.0)
        connection.close()
        assert token == endpoint.token is not None
    assert not path.exists()
    path.write_text('{"port": 1, "token": "of a killed server"}')
    with listen_at(path, by_unix_socket=False) as endpoint:
        connection, token = connect_to(path, 1.0)
        connection.close()
        assert token == endpoint.token


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b'{"port": "x", "token": 1}', b"x" * 10_000])
def test_nonsense_in_place_of_the_private_file_is_no_server(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / SOCKET_NAME
    path.write_bytes(content)
    with pytest.raises(NoServer):
        connect_to(path, 1.0)


async def test_an_admin_socket_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StartError, match="cannot listen on the admin socket"):
        async with running(Config(data=tmp_path / "data", admin=blocked / "socket")):
            pass
