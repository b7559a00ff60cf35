"""Most work remaining among the operations that can start before the first of them could end (Giffler and Thompson 1960)."""


def determine_next_operation(current_status: dict[str, list[int]], feasible_operations: list[list[int]]) -> list[int]:
    """Return the operation of the job with most work left on the machine that would finish first."""

    def start(operation: list[int]) -> int:
        return max(current_status["job_status"][operation[0]], current_status["machine_status"][operation[1]])

    first = min(feasible_operations, key=lambda operation: start(operation) + operation[2])
    end = start(first) + first[2]
    conflict = [operation for operation in feasible_operations if operation[1] == first[1] and start(operation) < end]
    return max(conflict, key=lambda operation: current_status["remaining_work"][operation[0]])
