"""NEH (Nawaz, Enscore and Ham 1983): jobs of long total time first, each where the partial schedule ends earliest (Taillard 1990's way)."""


def times_before(order: list, matrix: list) -> list:
    """Return for each job of an order when each machine is done with it."""
    free = [0] * len(matrix[0])
    rows = []
    for job in order:
        end = 0
        for machine, time in enumerate(matrix[job]):
            end = free[machine] = max(end, free[machine]) + time
        rows.append(free[:])
    return rows


def best_place(order: list, job: int, matrix: list) -> int:
    """Return where a job in an order lets it end earliest; of equal places the first."""
    m = len(matrix[0])
    turned = [row[::-1] for row in matrix]
    before = [[0] * m, *times_before(order, matrix)]
    after = [*(row[::-1] for row in reversed(times_before(order[::-1], turned))), [0] * m]
    spans = []
    for head, tail in zip(before, after):
        end = span = 0
        for machine, time in enumerate(matrix[job]):
            end = max(end, head[machine]) + time
            span = max(span, end + tail[machine])
        spans.append(span)
    return spans.index(min(spans))


def solve(n: int, m: int, matrix: list) -> dict:
    """Return the order of jobs."""
    order: list = []
    for job in sorted(range(n), key=lambda j: -sum(matrix[j])):
        order.insert(best_place(order, job, matrix), job)
    return {"job_sequence": [job + 1 for job in order]}
