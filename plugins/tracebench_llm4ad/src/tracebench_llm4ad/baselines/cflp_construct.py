"""Regret: first the customer that would lose most by missing its best facility (Martello and Toth 1981)."""

from typing import List, Optional, Tuple


def select_next_assignment(
    assignments: List[List[int]],
    remaining_customers: List[int],
    remaining_capacities: List[int],
    customer_demands: List[int],
    assignment_costs: List[List[int]],
) -> Tuple[int, Optional[int]]:
    """Return the customer of the largest regret and its cheapest facility with room."""
    best = None
    for customer in remaining_customers:
        room = [f for f, free in enumerate(remaining_capacities) if customer_demands[customer] <= free]
        ranked = sorted(room, key=lambda f: assignment_costs[f][customer])
        if not ranked:
            return customer, None
        regret = float("inf") if len(ranked) == 1 else assignment_costs[ranked[1]][customer] - assignment_costs[ranked[0]][customer]
        if best is None or regret > best[0]:
            best = (regret, customer, ranked[0])
    return best[1], best[2]
