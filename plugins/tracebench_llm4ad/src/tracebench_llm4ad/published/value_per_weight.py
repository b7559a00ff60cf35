"""The greedy rule for knapsacks (Dantzig 1957): the most value per weight first."""


def select_next_item(remaining_capacity: int, remaining_items: list) -> list:
    """Return the next item."""
    return max(remaining_items, key=lambda item: item[1] / item[0])
