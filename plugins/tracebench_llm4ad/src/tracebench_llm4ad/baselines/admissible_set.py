"""Vectors with few blocks that have no zero come first: such a block separates few triples."""


def priority(el: tuple[int, ...], n: int, w: int) -> float:
    """Return minus the number of blocks of three without a zero."""
    return -float(sum(0 not in el[k : k + 3] for k in range(0, n, 3)))
