"""Greedy with rarity: an element counts the more, the fewer of the remaining subsets hold it (Balas and Ho 1980, their spirit)."""


def select_next_subset(
    selected_subsets: list[list[int]], remaining_subsets: list[list[int]], remaining_elements: list[int]
) -> list[int]:
    """Return the subset of the largest weight of uncovered elements; an element held once is forced."""
    holders = {element: sum(element in subset for subset in remaining_subsets) for element in remaining_elements}
    rarest = min(remaining_elements, key=lambda element: holders[element])
    candidates = [subset for subset in remaining_subsets if rarest in subset]
    return max(candidates, key=lambda subset: sum(1 / holders[element] for element in subset if element in holders))
