"""Best fit decreasing."""


def determine_next_assignment(remaining_items: list[int], remaining_capacities: list[int]) -> tuple[int, int | None]:
    """Put the largest item into the fullest bin that takes it."""
    item = max(remaining_items)
    fitting = [bin_id for bin_id, capacity in enumerate(remaining_capacities) if item <= capacity]
    return item, min(fitting, key=lambda bin_id: remaining_capacities[bin_id]) if fitting else None
