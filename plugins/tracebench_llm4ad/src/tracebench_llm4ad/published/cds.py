"""CDS (Campbell, Dudek and Smith 1970): Johnson's order for the first k and the last k machines taken together, the best over k."""


def makespan(order: list, matrix: list) -> int:
    """Return the time at which the last job of an order is done."""
    free = [0] * len(matrix[0])
    for job in order:
        end = 0
        for machine, time in enumerate(matrix[job]):
            end = free[machine] = max(end, free[machine]) + time
    return free[-1]


def johnson(first: list, last: list) -> list:
    """Return the order that is optimal for two machines (Johnson 1954)."""
    jobs = range(len(first))
    early = sorted((j for j in jobs if first[j] <= last[j]), key=lambda j: first[j])
    late = sorted((j for j in jobs if first[j] > last[j]), key=lambda j: -last[j])
    return early + late


def solve(n: int, m: int, matrix: list) -> dict:
    """Return the order of jobs."""
    orders = [johnson([sum(row[:k]) for row in matrix], [sum(row[-k:]) for row in matrix]) for k in range(1, m)]
    return {"job_sequence": [job + 1 for job in min(orders, key=lambda order: makespan(order, matrix))]}
