"""Best fit decreasing."""

from typing import List, Optional, Tuple


def determine_next_assignment(remaining_items: List[int], remaining_capacities: List[int]) -> Tuple[int, Optional[int]]:
    """Put the largest item into the fullest bin that takes it."""
    item = max(remaining_items)
    fitting = [bin_id for bin_id, capacity in enumerate(remaining_capacities) if item <= capacity]
    return item, min(fitting, key=lambda bin_id: remaining_capacities[bin_id]) if fitting else None
