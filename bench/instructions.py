"""How many instructions a move takes in the server, as valgrind counts them: other work changes nothing.

    python -m bench.instructions

One game at each of 30 tables, with a journal, after another one that is not counted; what the kernel does is
not counted either.
"""

import importlib.util
import json
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from bench import Samples
from bench.load.playing import Figures, play
from bench.load.process import subject
from bench.load.tables import ServerTables, scripts

_TABLES: Final = 30


def samples(tree: Path) -> Samples:
    """Return the instructions of a move."""
    games, rng = scripts(7), random.Random(1)
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        under = ("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/count")
        fast = ("--fast",) if importlib.util.find_spec("uvloop") else ()
        with subject("server", "--data", f"{folder}/data", *fast, tree=tree, under=under) as server:
            tables = ServerTables([server.port], _TABLES)
            for count in (False, True):
                tables.prepare()
                for table in tables.tables:
                    table.frames, table.at = rng.choice(games), 0
                if count:
                    _control(server.process.pid, "--instr=on")
                figures = Figures()
                play(tables.tables, figures, None, rng)
                if count:
                    _control(server.process.pid, "--instr=off")
                    _control(server.process.pid, "--dump")
                tables.tidy()
        counts = [path.read_text(encoding="utf-8") for path in Path(folder).glob("count*")]
    total = max(int(each) for text in counts for each in re.findall(r"^totals: (\d+)", text, re.MULTILINE))
    return {"instructions a move": [total / len(figures.latencies)]}


def _control(process: int, command: str) -> None:
    subprocess.run(["callgrind_control", command, str(process)], check=True, stdout=subprocess.DEVNULL)  # noqa: S607 - the reader's own


if __name__ == "__main__":
    os.environ["PYTHONHASHSEED"] = "0"
    print(json.dumps(samples(Path.cwd())))
