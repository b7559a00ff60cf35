"""The plain solution that answers are compared with."""


def solve(numbers, total):
    """Return how many pairs of positions i < j have numbers that add up to `total`."""
    count = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == total:
                count += 1
    return count
