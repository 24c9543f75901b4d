"""What the host of a server is told of who comes to its tables and who leaves them."""

from collections.abc import Callable, Mapping

from server.tables.server_part import ServerPart
from server.tables.table import Table


class Attendance(ServerPart):
    """The people at each table; `tell` is called with a name, the table's code, and whether they came."""

    def __init__(self, tables: Mapping[str, Table], tell: Callable[[str, str, bool], None]) -> None:
        self._tables, self._tell = tables, tell
        self._here: dict[str, frozenset[str]] = {}  # by the tables' codes

    def table_changed(self, code: str) -> None:
        here = frozenset[str]()
        if (table := self._tables.get(code)) is not None:
            seated, held = table.audience.seated, table.state.held
            here = frozenset(player.name for seat, player in held if seat in seated and not player.program)
        before = self._here.pop(code, frozenset())
        if here:
            self._here[code] = here
        for name in sorted(here ^ before):
            self._tell(name, code, name in here)
