"""What a review could do to an earlier version, what it can do now, and the test that says so: `python -m tests.attack.outcomes`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/attacks.md"
HEAD = """\
# Attacks that were open once

Written by `python -m tests.attack.outcomes`. Each line is something that a reviewer could do to an early version, what happens now, and
the test that runs the attack itself, named as `pytest` takes it. What is still not contained is listed in
[isolation](isolation.md#what-is-not-contained) and under [who is trusted with what](threat-model.md).

| attack | then | now | test |
|---|---|---|---|
"""
CANDIDATES = "tests/attack/test_candidates.py::test_hostile_candidate_is_contained"
NEIGHBOURS = "tests/attack/test_neighbours.py"
GATEWAY = "tests/attack/gateway/test_abuses.py::test_an_abuse_is_contained_and_the_next_call_is_served"
CROWD = "tests/attack/gateway/test_overshoot.py"
COMMANDS = "tests/attack/test_commands.py"
ENCLOSED = "tests/attack/test_enclosed.py"
CODEC = "tests/unit/sandbox/test_codec.py"
SET_BACK = "tests/engine/test_set_back.py::test_nothing_of_a_job_is_there_for_the_next"
SECRECY = "tests/engine/test_secrecy.py"


class Outcome(NamedTuple):
    """One attack."""

    attack: str
    then: str
    now: str
    test: str


OUTCOMES = (
    Outcome(
        "a short answer that is an array of texts with one long text, of 400 million objects, or the same block a thousand times",
        "gigabytes in the process that scores",
        "refused",
        f"{CODEC}::test_a_short_message_cannot_take_much_memory[one long text in an array of texts]",
    ),
    Outcome(
        "a job that is the first to write a page of a mapped file, as of a library's data",
        "zeros for the next job",
        "what the file holds",
        f"{SET_BACK}[table-t]",
    ),
    Outcome(
        "a job that leaves an alternative signal stack within memory of its template's",
        "was still set for the next job",
        "set back",
        f"{SET_BACK}[other-stack-t]",
    ),
    Outcome(
        "a job that confines itself by Landlock, or forbids itself to make memory executable",
        "its process was used again",
        "its process is ended",
        f"{SET_BACK}[confined-t]",
    ),
    Outcome(
        "a candidate that is a shell or C program and speaks to ssh-agent, Docker, D-Bus",
        "Landlock closes no Unix socket that has a name, and namespaces of the network pass it",
        "commands make no connection",
        f"{COMMANDS}::test_a_command_reaches_nothing_and_outside_of_the_sandbox_the_same_does[speaks to a socket of the host]",
    ),
    Outcome(
        "the same by datagrams, from a socket or from half of a pair",
        "arrived",
        "commands have no datagrams",
        f"{COMMANDS}::test_a_command_reaches_nothing_and_outside_of_the_sandbox_the_same_does[sends to it from half of a pair]",
    ),
    Outcome(
        "a command that watches a folder of the host by inotify",
        "the names of files in folders that it may not read",
        "refused",
        f"{COMMANDS}::test_a_command_reaches_nothing_and_outside_of_the_sandbox_the_same_does[watches a folder that it cannot read]",
    ),
    Outcome(
        "a command of root that starts processes without end",
        "started, until its time was over",
        "ended at 512",
        f"{COMMANDS}::test_a_command_that_starts_processes_without_end_is_ended",
    ),
    Outcome(
        "a coding agent that opens a socket by io_uring",
        "one to the machine's host, past the filter that refuses it, on a closed network",
        "no rings",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[opens a socket by a ring]",
    ),
    Outcome(
        "a coding agent that leaves a set-user-id program in its folder",
        "in a run with `share`, whoever starts it becomes the user",
        "no such mode can be set",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[leaves a program that runs as its owner]",
    ),
    Outcome(
        "a coding agent that reads the machine's settings of git",
        "a copy of `/etc/gitconfig`, with whatever token stands there",
        "it is not there; who commits is told to it",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[reads the machine's settings of git]",
    ),
    Outcome(
        "a coding agent of `Autoresearch` that leaves an idea of 8 TB of holes, or a heap of files",
        "read whole by the job's process",
        "300 characters of it, 64 MiB of files",
        "plugins/tracebench_autoresearch/tests/test_trainer.py::test_an_agent_that_leaves_holes_or_a_heap_takes_no_memory_of_ours",
    ),
    Outcome(
        "a program on a closed network that opens connections without end",
        "two threads of the host for each, which no limit of the program counts",
        "512 at a time",
        "tests/sandbox/test_closed.py::test_a_program_cannot_fill_the_hosts_side_with_threads",
    ),
    Outcome(
        "a program that sends its door gigabytes without an end of line",
        "held by the job's process, past every cap on memory, without a token, too",
        "64 MiB in all, 4 KiB without a token",
        "tests/engine/test_door.py::test_what_a_program_makes_this_process_hold_is_bounded",
    ),
    Outcome(
        "another user, or an agent of theirs, that reads the salts in a run with `share`",
        "`meta/salts.json`, `mirror.zip`, `summary.json`: the instances of all runs of the folder",
        "its owner's alone, told nowhere else",
        f"{SECRECY}::test_no_file_that_others_may_read_holds_a_salt_whatever_is_shared",
    ),
    Outcome(
        "a coding agent that reads the salts of its run",
        "the test instances, computed and solved at home",
        "they are not there",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[reads the salts]",
    ),
    Outcome(
        "a coding agent that writes a rival's result",
        "any score, signed again",
        "it is not there",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[forges a rival's result]",
    ),
    Outcome(
        "a coding agent that edits the engine's code",
        "open for writing, for all later runs",
        "read-only, or not there",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[opens the engine's code]",
    ),
    Outcome(
        "a coding agent that speaks to ssh-agent, Docker, D-Bus",
        "their sockets passed the closed network",
        "they are not there",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[speaks to a socket of the host]",
    ),
    Outcome(
        "a program of root that sets the kernel's `core_pattern`",
        "a command for the kernel to run as root",
        "the kernel's settings are read-only",
        f"{ENCLOSED}::test_an_attack_on_the_hosts_files_finds_nothing[writes the kernel's settings]",
    ),
    Outcome(
        "a program that cancels its rival over the run's control socket",
        "`cancelled: by its rival`",
        "refused: it is in other namespaces",
        f"{ENCLOSED}::test_a_program_of_a_job_cannot_steer_runs_and_its_owner_can",
    ),
    Outcome(
        "a program that starts processes without end",
        "started",
        "limited: to 4,096, or to what the config says",
        f"{ENCLOSED}::test_processes_and_memory_end_at_their_limits",
    ),
    Outcome(
        "1,500 nested folders",
        "the template and its keeper died; every later evaluation scored 0",
        "a quota, weighed within bounds; the next candidate is measured",
        f"{CANDIDATES}[nests-1,500-folders]",
    ),
    Outcome(
        "a sandbox server that cannot be reached",
        "0 points",
        "not measured, and measured again",
        "tests/sandbox/test_processes_end.py::test_killing_the_template_ends_its_children_and_is_told",
    ),
    Outcome(
        "an urgent byte on the channel, then sleep",
        "the job hung for ever",
        "ended at its deadline by call, batch and session",
        f"{NEIGHBOURS}::test_a_deadline_holds_however_the_candidate_is_called",
    ),
    Outcome(
        "a session whose caller is gone or stuck",
        "no deadline in the template",
        "ended by the template",
        f"{NEIGHBOURS}::test_the_template_ends_a_session_whose_caller_cannot",
    ),
    Outcome(
        "150 callers at a cap in tokens, USD or calls",
        "fifty times the cap",
        "within the cap",
        f"{CROWD}::test_a_crowd_spends_no_more_than_the_cap",
    ),
    Outcome(
        "one request for 128 answers",
        "128 calls at a cap of 1",
        "counted as 128, refused beyond the cap",
        f"{CROWD}::test_one_request_for_many_choices_is_many_calls",
    ),
    Outcome(
        "a host without Landlock or seccomp",
        "ran unprotected, in silence",
        "namespaces; without them exit 3 and the flag that allows it",
        "tests/sandbox/test_less_is_offered.py::test_a_run_refuses_with_exit_3_and_the_flag_makes_it_go",
    ),
    Outcome(
        "owning a signal by ioctl where Landlock's ABI is below 6",
        "SIGKILL to any process of the user",
        "refused by the filter",
        "tests/attack/test_older_kernels.py::test_an_abi_without_scopes_is_made_up_for_by_the_filter",
    ),
    Outcome(
        "a request that fails after admission",
        "its reservation was never given back",
        "400 with words, nothing set aside",
        "tests/attack/gateway/test_abuses.py::test_nothing_is_set_aside_after_all_that",
    ),
    Outcome(
        "half a character, NaN, 200,000 brackets",
        "HTTP 500",
        "400 with words",
        "tests/attack/gateway/test_abuses.py::test_no_request_is_an_error_of_ours",
    ),
    Outcome(
        "a stream that is dropped at its first piece",
        "free",
        "its prompt is paid for",
        f"{CROWD}::test_a_stream_that_is_dropped_is_paid_for",
    ),
    Outcome(
        "setting back the clock with a job's key",
        "no cap in seconds any more",
        "the engine's key alone opens that door",
        GATEWAY,
    ),
    Outcome(
        "reading the runner's environment from a trainer program",
        "the provider's key",
        "no other process is in sight",
        "tests/attack/test_programs.py::test_a_program_sees_no_environment_but_its_own",
    ),
    Outcome(
        "variables that are keys by another name",
        "passed on to programs",
        "programs get a list of names",
        "tests/attack/test_programs.py::test_a_program_is_given_listed_variables_only",
    ),
    Outcome(
        "reading `/proc/PID/environ` of the run as the same user",
        "the provider's key",
        "it is in no process's environment",
        "tests/engine/test_secrets.py::test_a_run_goes_on_without_the_key_in_any_environment_but_the_gateways_memory",
    ),
    Outcome(
        "a trainer that looks for the test split or scoring's keys in its process",
        "both",
        "neither is there",
        f"{SECRECY}::test_the_process_that_trains_holds_neither_test_nor_what_opens_it",
    ),
    Outcome(
        "a trainer that patches scorer or guide",
        "any score, status ok",
        "another process scores",
        f"{SECRECY}::test_a_scorer_and_a_guide_that_a_trainer_patches_are_not_those_that_score",
    ),
    Outcome(
        "a trainer that writes scores and results itself",
        "believed",
        "the job fails without a score",
        f"{SECRECY}::test_scores_that_a_trainer_writes_itself_end_its_job_without_a_score",
    ),
    Outcome(
        "computing the test instances from their public seed",
        "203 bins where 211 are honest",
        "drawn from secrets, published at the end; in-process trainers and programs with `files: host` can read them still",
        f"{SECRECY}::test_runs_of_a_folder_share_salts_that_only_their_owner_reads",
    ),
    Outcome(
        "System V shared memory, messages, semaphores", "passed", "refused", f"{CANDIDATES}[attaches-shared-memory]"
    ),
    Outcome(
        "files below a path that is too long",
        "140 MB at a quota of 64",
        "the quota holds",
        f"{CANDIDATES}[writes-below-a-path-that-is-too-long]",
    ),
    Outcome(
        "400 idle connections without a key", "the gateway stood still", "closed, honest calls are served", GATEWAY
    ),
    Outcome(
        "calls under way when a job ends",
        "missing from its results",
        "ended and filed",
        f"{CROWD}::test_calls_under_way_when_training_ends_are_ended_and_filed",
    ),
    Outcome(
        "state in a reused folder",
        "survived",
        "a fresh folder each time",
        "tests/attack/test_ahead.py::test_the_process_that_waits_is_the_one_that_runs_and_is_held_like_any_other",
    ),
    Outcome(
        "watching files by inotify", "names in unreadable folders", "refused", f"{CANDIDATES}[watches-files-by-inotify]"
    ),
    Outcome("leases and locks on system files", "taken", "refused", f"{CANDIDATES}[leases-a-system-file]"),
    Outcome(
        "a redirect to another origin",
        "got the prompts",
        "not followed",
        "tests/llm/test_wires.py::test_a_redirect_is_not_followed",
    ),
    Outcome(
        "work moved to a thread between timed calls, where seconds are an objective",
        "free",
        "the processor time of the whole process counts",
        "plugins/tracebench_llm4ad/tests/design/test_hostile.py::test_work_moved_to_the_background_counts_as_the_programs_own",
    ),
    Outcome(
        "answers of 10**4000, arrays without axes",
        "some judges raised, and the job had an error to tell",
        "refused with words, at any place of any answer",
        "plugins/tracebench_llm4ad/tests/cobench/test_problems.py::test_something_else_in_place_of_any_part_of_the_answer_is_refused_or_earns_nothing_more",
    ),
    Outcome(
        "control characters in what candidates and models say",
        "raw in `events.jsonl`, acted on a terminal",
        "spelled out in every file of JSON",
        "tests/unit/store/test_writer.py::test_what_would_act_on_a_terminal_is_spelled_out_in_every_file",
    ),
    Outcome(
        "`kill -9`",
        "left an empty folder among the temporary ones",
        "swept by the next run and by `doctor`",
        "tests/engine/test_looked_after.py::test_folders_of_dead_processes_are_swept_and_no_others",
    ),
    Outcome("a body of 200 MB, `n: true`, huge numbers", "taken", "400 or 413 with words", GATEWAY),
    Outcome(
        "a forged frame on the result channel",
        "an answer, scored as one",
        "the same",
        "tests/attack/test_candidates.py::test_what_a_forged_frame_says_is_an_answer_and_scored_as_one",
    ),
    Outcome(
        "all hostile candidates beside an honest caller",
        "an honest score could be lost",
        "the same bits",
        f"{NEIGHBOURS}::test_honest_work_beside_attackers_comes_to_the_same_bits",
    ),
    Outcome(
        "a hostile job beside an honest one",
        "the honest job lost its scores",
        "the same results",
        "tests/attack/test_runs.py::test_an_honest_job_beside_a_hostile_one_has_the_same_results",
    ),
)


def page() -> str:
    """Return the page."""
    return HEAD + "".join(f"| {o.attack} | {o.then} | {o.now} | `{o.test}` |\n" for o in OUTCOMES)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
