"""Palmer's slope index (Palmer 1965): jobs whose times grow along the machines go first."""


def solve(n: int, m: int, matrix: list) -> dict:
    """Return the order of jobs."""
    slopes = [sum((2 * i - m + 1) * time for i, time in enumerate(times)) for times in matrix]
    return {"job_sequence": sorted(range(1, n + 1), key=lambda job: -slopes[job - 1])}
