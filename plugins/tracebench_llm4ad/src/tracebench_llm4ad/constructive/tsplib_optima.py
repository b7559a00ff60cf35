"""The optimal tours' lengths of TSPLIB's symmetric instances.

Public facts: the list "Optimal solutions for symmetric TSPs" of TSPLIB's pages (Reinelt, Heidelberg; all proven, last of all d18512 and
pla33810 by Concorde), as of 2007; noted in 2026.
"""

from __future__ import annotations

from collections.abc import Mapping

OPTIMA: Mapping[str, int] = {
    "a280": 2579, "ali535": 202339, "att48": 10628, "att532": 27686, "berlin52": 7542, "bier127": 118282, "burma14": 3323,
    "ch130": 6110, "ch150": 6528, "d198": 15780, "d493": 35002, "d657": 48912, "d1291": 50801, "d1655": 62128, "d2103": 80450,
    "eil51": 426, "eil76": 538, "eil101": 629, "fl417": 11861, "fl1400": 20127, "fl1577": 22249, "fl3795": 28772,
    "gil262": 2378, "gr96": 55209, "gr137": 69853, "gr202": 40160, "gr229": 134602, "gr431": 171414, "gr666": 294358,
    "kroA100": 21282, "kroB100": 22141, "kroC100": 20749, "kroD100": 21294, "kroE100": 22068, "kroA150": 26524,
    "kroB150": 26130, "kroA200": 29368, "kroB200": 29437, "lin105": 14379, "lin318": 42029, "nrw1379": 56638, "p654": 34643,
    "pcb442": 50778, "pcb1173": 56892, "pcb3038": 137694, "pr76": 108159, "pr107": 44303, "pr124": 59030, "pr136": 96772,
    "pr144": 58537, "pr152": 73682, "pr226": 80369, "pr264": 49135, "pr299": 48191, "pr439": 107217, "pr1002": 259045,
    "pr2392": 378032, "rat99": 1211, "rat195": 2323, "rat575": 6773, "rat783": 8806, "rd100": 7910, "rd400": 15281,
    "rl1304": 252948, "rl1323": 270199, "rl1889": 316536, "st70": 675, "ts225": 126643, "tsp225": 3916, "u159": 42080,
    "u574": 36905, "u724": 41910, "u1060": 224094, "u1432": 152970, "u1817": 57201, "u2152": 64253, "u2319": 234256,
    "ulysses16": 6859, "ulysses22": 7013, "vm1084": 239297, "vm1748": 336556,
}  # fmt: skip
"""By the instance's name."""
