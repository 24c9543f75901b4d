"""The example game of the lessons, as a record: every page shows one of its moments."""

from typing import Final

NAMES: Final = ("Livia", "Marco")  # the pupil's opponents, seats 1 and 2
MOVES: Final = 42

_EXAMPLE: Final = """\
palatinus record 1
players 3
starts 1
seat 0 E
seat 1 S
seat 2 L
layout laid
tile E 0 0
1 draws A
1 lays A 3 1
2 draws C
2 lays C 4 1
0 draws D
0 lays D 5 4
1 draws F
1 lays F 2 1
2 draws B
2 lays B 6 1
0 draws G
0 lays G 1 4
laurel A Capitolinus
laurel B Aventinus
laurel C Esquilinus
laurel D Caelius
laurel E Palatinus
laurel F Viminalis
laurel G Quirinalis
1 places Sf G3
2 places Ls C4
0 places Em B4
1 places Ss D1
2 places Ls D5
0 places Em D6
1 places Sm B3
2 places Lf G1
0 places Ef D4
1 places Sf D3
2 places Lf E1
0 places Es G6
1 places Sf* A3
2 places Lm F2
0 places Em* E5
1 places Sf* G2
2 places Lm E6
0 places Ef* E2
1 places Sf* A1
2 places Lf* G5
0 places Ef* F4
1 places Ss A2
2 places Lf* C1
0 places Es A4
1 places Sm C5
2 places Lf* F5
0 places Ef* B2
1 places Sm* C6
2 places Lm* C2
0 places Em* B1
1 places Sm* D2
2 places Lm* E4
0 places Em* E3
1 places Sm* A5
2 places Lm* B5
0 places Ef A6
result 0 points 18 items 9
result 1 points 15 items 7
result 2 points 12 items 6
winners 0
"""


def record_at(moves: int) -> str:
    """Return the record of the example game after that many moves (tiles laid and pieces placed)."""
    kept: list[str] = []
    made = 0
    for line in _EXAMPLE.splitlines():
        made += " lays " in line or " places " in line
        if made > moves:
            return "\n".join((*kept, "unfinished\n"))
        kept.append(line)
    return _EXAMPLE
