"""Integer programming: a decision for each column."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(num_rows, num_columns, columns_info):
    """Return the cheapest columns that cover every row once."""
    columns = sorted(columns_info)
    covers = np.zeros((num_rows, len(columns)))
    for place, column in enumerate(columns):
        covers[[row - 1 for row in columns_info[column][1]], place] = 1
    limits = LinearConstraint(covers, 1, 1)
    cost = [columns_info[column][0] for column in columns]
    kinds = np.ones(len(columns))
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=kinds, options={"mip_rel_gap": 0})
    return {"selected_columns": [columns[k] for k in np.flatnonzero(found.x > 0.5)]}
