"""FunSearch's function for an admissible set A(24, 17) of 237,984 vectors (Romera-Paredes et al. 2023)."""


def priority(el: tuple, n: int, w: int) -> float:
    """Rank a vector by how each entry compares with the two before it."""
    square = w**2
    result = 0.0
    for i in range(n):
        here, one, two, eight = el[i], el[i - 1], el[i - 2], el[i - 8]
        violations = 0
        if here < one:
            result += (one**0.5) * square / 36
            violations = 1
        if here < two:
            result += two**0.5
            violations += 1
        if one != 0:
            result -= (here - one) * square / 18
            violations += 2
        if two != 0:
            result -= (here - two) * square / 36 * (0.95**violations)
        result -= (0.02**here) * (here - eight)
    return result
