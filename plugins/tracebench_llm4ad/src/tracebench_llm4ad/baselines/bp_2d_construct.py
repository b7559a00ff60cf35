"""First fit decreasing by area."""

import numpy as np


def fits(points: np.ndarray, width: int, height: int) -> bool:
    """Say whether a free place of that size exists, by an integral image."""
    total = np.pad(np.asarray(points).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    occupied = total[width:, height:] - total[:-width, height:] - total[width:, :-height] + total[:-width, :-height]
    return bool((occupied == 0).any())


def determine_next_assignment(
    remaining_items: list[list[int]], point_matrices: list[np.ndarray]
) -> tuple[list[int], int | None]:
    """Pack the largest rectangle into the first bin that has room."""
    width, height = max(remaining_items, key=lambda item: item[0] * item[1])
    for bin_index, points in enumerate(point_matrices):
        if fits(points, width, height):
            return [width, height], bin_index
    return [width, height], None
