"""Dynamic programming over the items on offer: pack the first item of an optimal selection."""


def select_next_item(remaining_capacity: int, remaining_items: list[list[int]]) -> list[int] | None:
    """Return an item of an optimal packing of what is left."""
    best: list[tuple[int, list[int] | None]] = [(0, None)] * (remaining_capacity + 1)
    for item in remaining_items:
        weight, value, _ = item
        for capacity in range(remaining_capacity, weight - 1, -1):
            total = best[capacity - weight][0] + value
            if total > best[capacity][0]:
                best[capacity] = (total, item)
    return best[remaining_capacity][1]
