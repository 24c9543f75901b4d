"""Seats kept in real files: who finds them, who does not, and what happens to damaged ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.player.seats import HeldSeat, Seats

SERVER = "ws://127.0.0.1:7733"
TOKEN = "a-secret-token"
ROOT = Path(__file__).parents[3]

OTHER_CLIENT = f"""
import sys
from pathlib import Path
from client.player.seats import Seats
seats = Seats(Path(sys.argv[1]), "{SERVER}")
for line in sys.stdin:
    match line.split():
        case ["keep", table, seat, name]:
            held = seats.keep(table, int(seat), name, "other-" + name)
            print(held.path, flush=True)
        case ["take", table, name]:
            held = seats.take(table, name)
            print(held and held.name, flush=True)
        case ["many", name]:
            for number in range(25):
                seats.keep("KXQT", number % 5, name, f"{{name}}-{{number}}").release()
            print("done", flush=True)
"""


class OtherClient:
    """Another client on this computer, as a process."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OTHER_CLIENT, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands, self._answers = self._process.stdin, self._process.stdout

    def __enter__(self) -> "OtherClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def ask(self, words: str) -> None:
        print(words, file=self._commands, flush=True)

    def answer(self) -> str:
        return self._answers.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def test_a_seat_is_found_at_each_server_of_its_house(folder: Path) -> None:
    """The one where it was taken may be gone for good; at any other server it is not shown."""
    nonsense = ["ws://[", "ws://host:port", f"ws://{'x' * 5000}"]
    cluster = [SERVER, *nonsense, "ws://second.example:7733/", "wss://[::2]:443/x"]
    Seats(folder, SERVER).keep("KXQT", 1, "Ann", TOKEN, cluster).release()
    for address in (SERVER, "ws://SECOND.example", "wss://[::2]:443/x/"):
        seats = Seats(folder, address)
        assert seats.tables() == {"KXQT"}
        assert seats.tokens("Ann", 8) == (TOKEN,)
        assert not seats.damaged
    Seats(folder, SERVER).keep(
        "LONG", 1, "Ann", TOKEN, [f"ws://{number:0250}" for number in range(99)]
    ).release()
    assert Seats(folder, f"ws://{0:0250}").tables() == {"LONG"}
    assert Seats(folder, "ws://third.example").tables() == frozenset()
    assert Seats(folder, "wss://second.example").tables() == frozenset()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "seats"


def kept_and_released(seats: Seats, name: str = "Ann", table: str = "KXQT", token: str = TOKEN) -> HeldSeat:
    """Keep a seat and release it."""
    held = seats.keep(table, 1, name, token)
    held.release()
    return held


def taken_and_released(seats: Seats, table: str = "KXQT", name: str = "Ann") -> HeldSeat | None:
    """Take a seat and release it."""
    held = seats.take(table, name)
    if held is not None:
        held.release()
    return held


def test_a_seat_is_found_again(folder: Path) -> None:
    assert Seats(folder, SERVER).tables() == frozenset()
    assert taken_and_released(Seats(folder, SERVER)) is None
    assert not folder.exists()  # nothing is written before a seat is kept
    kept = kept_and_released(Seats(folder, SERVER))
    assert TOKEN not in f"{kept!r} {kept} {kept.path.name}"
    seats = Seats(folder, "ws://127.0.0.1:7733/")
    assert seats.tables() == {"KXQT"}
    assert taken_and_released(seats, table="ABCD") is None
    assert Seats(folder, "ws://127.0.0.1:7734").tables() == frozenset()
    held = seats.take("KXQT", "Ann")
    assert held is not None
    assert (held.table, held.name, held.token) == ("KXQT", "Ann", TOKEN)
    seats.forget(held)
    assert seats.tables() == frozenset()
    assert taken_and_released(seats) is None
    assert [path.name for path in folder.iterdir()] == ["lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_its_user_can_read_a_seat(folder: Path) -> None:
    umask = os.umask(0)
    try:
        folder.mkdir(parents=True)
        held = kept_and_released(Seats(folder, SERVER))
    finally:
        os.umask(umask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == {"seats": 0o700, "lock": 0o600, held.path.name: 0o600}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\x00", b"[]", b'{"format": 2}', b'{"token": "a-secret-token"}'),
        b'{"format":1,"server":"ws://[","table":"KXQT","seat":0,"name":"Ann","token":"a-secret-token"}',
        b"x" * 100_000,
    ],
)
def test_a_damaged_file_does_not_hide_others(folder: Path, content: bytes) -> None:
    seats = Seats(folder, SERVER)
    kept_and_released(seats)
    broken, other = folder / "0.json", folder / "1.json"
    broken.write_bytes(content)
    other.mkdir()
    assert seats.tables() == {"KXQT"}
    assert set(seats.damaged) == {broken, other}
    assert broken.read_bytes() == content
    assert taken_and_released(seats) is not None


def test_old_seats_are_forgotten(folder: Path) -> None:
    seats = Seats(folder, SERVER)
    old, used = kept_and_released(seats), seats.keep("ABCD", 0, "Ann", TOKEN)
    recent = kept_and_released(seats, name="Bob")
    broken = folder / "0.json"
    broken.write_bytes(b"?")
    half_written = folder / "0.new"  # by a client that was killed
    half_written.write_bytes(b'{"format"')
    for path, days in ((old.path, 101), (used.path, 101), (broken, 101), (recent.path, 99)):
        then = path.stat().st_mtime - days * 24 * 3600
        os.utime(path, (then, then))
    assert seats.tables() == {"KXQT"}
    assert set(folder.iterdir()) == {used.path, recent.path, folder / "lock"}
    assert seats.damaged == ()
    again = taken_and_released(seats)
    assert again is not None
    assert again.path.stat().st_mtime > recent.path.stat().st_mtime - 60
    used.release()


def test_the_best_of_several_seats_is_taken(folder: Path) -> None:
    seats = Seats(folder, SERVER)
    for age, (name, token) in enumerate([("Bob", "a"), ("Ann", "b"), ("Ann", "c"), ("Bob", "d")]):
        held = kept_and_released(seats, name, token=token)
        os.utime(held.path, (held.path.stat().st_mtime - 1000 * age,) * 2)
    in_use = seats.keep("KXQT", 4, "Ann", "in use")
    assert (seats.tokens("Ann", 8), seats.tokens("Ann", 1), seats.tokens("Carl", 8)) == (
        ("b", "c"),
        ("b",),
        (),
    )
    in_use.release()
    seats.forget(in_use)
    tokens = []
    for name in ("Ann", "Ann", "Cosima", "Cosima", "Cosima"):
        found = seats.take("KXQT", name)
        tokens.append(None if found is None else found.token)
    assert tokens == ["b", "c", "a", "d", None]


def test_a_new_player_takes_no_older_seat(folder: Path) -> None:
    kept_and_released(Seats(folder, SERVER))
    seats = Seats(folder, SERVER, new=True)
    assert seats.tables() == frozenset()
    assert taken_and_released(seats) is None
    kept_and_released(seats, name="Bob")
    assert (found := taken_and_released(seats)) is not None
    assert found.name == "Bob"


def test_a_seat_in_use_is_not_offered(folder: Path) -> None:
    seats = Seats(folder, SERVER)
    with OtherClient(folder) as other:
        other.ask("keep KXQT 0 Bob")
        assert Path(other.answer()).exists()
        assert seats.tables() == frozenset()
        assert taken_and_released(seats) is None
        mine = seats.keep("KXQT", 1, "Ann", TOKEN)
        other.ask("take KXQT Ann")
        assert other.answer() == "None"
        mine.release()
        other.ask("take KXQT Ann")
        assert other.answer() == "Ann"
        assert seats.tables() == frozenset()
        other.kill()
        assert seats.tables() == {"KXQT"}
        found = taken_and_released(seats, name="Bob")
        assert found is not None
        assert found.token == "other-Bob"


@pytest.mark.slow
def test_concurrent_clients_lose_no_seat(folder: Path) -> None:
    seats = Seats(folder, SERVER)
    with OtherClient(folder) as one, OtherClient(folder) as two:
        one.ask("many Ann")
        two.ask("many Bob")
        for _ in range(50):
            seats.tables()
            assert seats.damaged == ()
        assert (one.answer(), two.answer()) == ("done", "done")
    assert len(list(folder.glob("*.json"))) == 50
    tokens = set()
    while (held := seats.take("KXQT", "Ann")) is not None:
        tokens.add(held.token)
        seats.forget(held)
    assert tokens == {f"{name}-{number}" for name in ("Ann", "Bob") for number in range(25)}


def test_an_impossible_folder_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(OSError, match=r"directory|exists"):
        Seats(tmp_path / "state" / "seats", SERVER).keep("KXQT", 0, "Ann", TOKEN)
