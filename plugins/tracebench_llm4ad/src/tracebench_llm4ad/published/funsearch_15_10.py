"""FunSearch's function for the full-size admissible set I(15, 10) (Romera-Paredes et al. 2023)."""

BONUS = (1.0, 0.05, -0.05, 0.01, -0.01, 0.001)
"""By how far back the first greater entry lies; none that near counts 0.005."""


def priority(el: tuple, n: int, w: int) -> float:
    """Rank a vector by its descents, its repetitions and its zeros."""
    score = 0.0
    for i in range(n):
        score += next((BONUS[k - 1] for k in range(1, 7) if el[i] < el[i - k]), 0.005)
    for i in range(n):
        repeated = el[i] == el[i - 1]
        if repeated:
            score -= w
        elif el[i] == 0 and i != n - 1 and el[i + 1] != 0:
            score += w
        if not repeated:
            score += w
    return score - w * sum(el[i] < el[i - 1] and el[i] == 0 for i in range(n))
