"""Regret: first the customer that would lose most by missing its best facility (Martello and Toth 1981)."""


def select_next_assignment(
    assignments: list[list[int]],
    remaining_customers: list[int],
    remaining_capacities: list[int],
    customer_demands: list[int],
    assignment_costs: list[list[int]],
) -> tuple[int, int | None]:
    """Return the customer of the largest regret and its cheapest facility with room."""
    best: tuple[float, int, int | None] = (-1.0, remaining_customers[0], None)
    for customer in remaining_customers:
        room = [f for f, free in enumerate(remaining_capacities) if customer_demands[customer] <= free]
        ranked = sorted(room, key=lambda f: assignment_costs[f][customer])
        if not ranked:
            return customer, None
        regret = (
            float("inf")
            if len(ranked) == 1
            else assignment_costs[ranked[1]][customer] - assignment_costs[ranked[0]][customer]
        )
        if regret > best[0]:
            best = (regret, customer, ranked[0])
    return best[1], best[2]
