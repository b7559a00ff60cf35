"""Best known values of OR-Library's files, by folder and file, one for each case of a file in its order.

They are public facts: Beasley's lists (OR-Library, `capopt`, `uncapopt`, `pmedopt`, `scpopt`, `assignopt`, `rcspopt`) and the
references that CO-Bench (Sun et al., 2025) normalises by, which for `scpnre` to `scpnrh`, `gcol` and some of `rcsp` are not the optimum.
Of aircraft landing there are none: generated files bear the names of the real ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_CAP = {
    "cap41": 1040444.375, "cap42": 1098000.450, "cap43": 1153000.450, "cap44": 1235500.450, "cap51": 1025208.225,
    "cap61": 932615.750, "cap62": 977799.400, "cap63": 1014062.050, "cap64": 1045650.250,
    "cap71": 932615.750, "cap72": 977799.400, "cap73": 1010641.450, "cap74": 1034976.975,
    "cap81": 838499.288, "cap82": 910889.563, "cap83": 975889.563, "cap84": 1069369.525,
    "cap91": 796648.438, "cap92": 855733.500, "cap93": 896617.538, "cap94": 946051.325,
    "cap101": 796648.437, "cap102": 854704.200, "cap103": 893782.112, "cap104": 928941.750,
    "cap111": 826124.713, "cap112": 901377.213, "cap113": 970567.750, "cap114": 1063356.488,
    "cap121": 793439.563, "cap122": 852524.625, "cap123": 895302.325, "cap124": 946051.325,
    "cap131": 793439.562, "cap132": 851495.325, "cap133": 893076.712, "cap134": 928941.750,
    "capa-8000": 19240822.449, "capa-10000": 18438046.543, "capa-12000": 17765201.949, "capa-14000": 17160439.012,
    "capb-5000": 13656379.578, "capb-6000": 13361927.449, "capb-7000": 13198556.434, "capb-8000": 13082516.496,
    "capc-5000": 11646596.974, "capc-5750": 11570340.289, "capc-6500": 11518743.744, "capc-7250": 11505767.394,
}  # fmt: skip
_UNCAPACITATED = (
    "cap71", "cap72", "cap73", "cap74", "cap101", "cap102", "cap103", "cap104", "cap131", "cap132", "cap133", "cap134",
)  # fmt: skip
_PMED = (
    5819, 4093, 4250, 3034, 1355, 7824, 5631, 4445, 2734, 1255, 7696, 6634, 4374, 2968, 1729, 8162, 6999, 4809, 2845, 1789,
    9138, 8579, 4619, 2961, 1828, 9917, 8307, 4498, 3033, 1989, 10086, 9297, 4700, 3013, 10400, 9934, 5057, 11060, 9423, 5128,
)  # fmt: skip
_SCP = {
    "4": (429, 512, 516, 494, 512, 560, 430, 492, 641, 514), "5": (253, 302, 226, 242, 211, 213, 293, 288, 279, 265),
    "6": (138, 146, 145, 131, 161), "a": (253, 252, 232, 234, 236), "b": (69, 76, 80, 79, 72), "c": (227, 219, 243, 219, 215),
    "d": (60, 66, 72, 62, 61), "e": (5, 5, 5, 5, 5), "nre": (29, 32, 28, 30, 28), "nrf": (15, 16, 15, 15, 14),
    "nrg": (184, 163, 174, 176, 175), "nrh": (68, 66, 65, 63, 60),
}  # fmt: skip
_RCSP = (
    88.3, 131, 1.44, 2, 81.9, 91.4, 3.91, 3.77, 420, 420, 6, 6, 448, 656, 6.2, 5, 487, 512, 6, 6, 858, 858, 3.34, 3.74,
)  # fmt: skip
_ASSIGN = {
    "assign100": 305, "assign200": 475, "assign300": 626, "assign400": 804, "assign500": 991, "assign600": 1176, "assign700": 1362,
    "assign800": 1552, "assignp800": 2239, "assignp1500": 5839, "assignp3000": 18696, "assignp5000": 48533,
}  # fmt: skip
BEST_KNOWN: Mapping[str, Mapping[str, Sequence[float]]] = {
    "Assignment problem": {name: (value,) for name, value in _ASSIGN.items()},
    "Capacitated warehouse location": {name: (value,) for name, value in _CAP.items()},
    "Graph colouring": {f"gcol{k}": (15 if k <= 20 else 34,) for k in range(1, 31)},  # noqa: PLR2004 - 100 and 300 vertices
    "Resource constrained shortest path": {f"rcsp{k}": (value,) for k, value in enumerate(_RCSP, start=1)},
    "Set covering": {f"scp{s}{k}": (value,) for s, values in _SCP.items() for k, value in enumerate(values, start=1)},
    "Uncapacitated warehouse location": {name: (_CAP[name],) for name in _UNCAPACITATED}
    | {"capa": (17156454.478,), "capb": (12979071.582,), "capc": (11505594.329,)},
    "p-median - uncapacitated": {f"pmed{k}": (value,) for k, value in enumerate(_PMED, start=1)},
}


def best_known(folder: str, file: str, case: int) -> float | None:
    """Return the best known value of a file's case, counted from 0; None where none is known."""
    values = BEST_KNOWN.get(folder, {}).get(file.casefold().removesuffix(".txt"), ())
    return float(values[case]) if case < len(values) else None


def share_of_best_known(value: float, known: float, *, minimize: bool) -> float | None:
    """Return CO-Bench's normalised score: 1 is the best known value, less is worse; None where it is not defined."""
    if known == 0:
        return (known + 1) / (value + 1) if minimize and value >= 0 else None
    better, worse = (known, value) if minimize else (value, known)
    return better / worse if worse > 0 else None
