"""NEH (Nawaz, Enscore and Ham 1983): jobs of long total time first, each where the partial schedule ends earliest."""


def makespan(order: list, matrix: list) -> int:
    """Return the time at which the last job of an order is done."""
    free = [0] * len(matrix[0])
    for job in order:
        end = 0
        for machine, time in enumerate(matrix[job]):
            end = free[machine] = max(end, free[machine]) + time
    return free[-1]


def solve(n: int, m: int, matrix: list) -> dict:
    """Return the order of jobs."""
    order: list = []
    for job in sorted(range(n), key=lambda j: -sum(matrix[j])):
        places = [[*order[:k], job, *order[k:]] for k in range(len(order) + 1)]
        order = min(places, key=lambda p: makespan(p, matrix))
    return {"job_sequence": [job + 1 for job in order]}
