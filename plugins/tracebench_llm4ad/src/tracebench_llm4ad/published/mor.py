"""Most operations remaining: of the operations that can begin earliest, the one that this dispatching rule prefers begins."""


def solve(n_jobs: int, n_machines: int, times: list, machines: list) -> dict:
    """Return the start of each operation of a schedule in which no machine waits while it has work."""
    done, job_free, machine_free = [0] * n_jobs, [0] * n_jobs, [0] * (n_machines + 1)
    starts: list = [[] for _ in range(n_jobs)]

    def begins(j: int) -> int:
        return max(job_free[j], machine_free[machines[j][done[j]]])

    def preference(j: int) -> float:
        return done[j]

    for _ in range(n_jobs * n_machines):
        open_jobs = [j for j in range(n_jobs) if done[j] < n_machines]
        now = min(map(begins, open_jobs))
        job = min((j for j in open_jobs if begins(j) == now), key=preference)
        k = done[job]
        starts[job].append(now)
        job_free[job] = machine_free[machines[job][k]] = now + times[job][k]
        done[job] += 1
    return {"start_times": starts}
