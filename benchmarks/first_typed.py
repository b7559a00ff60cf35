"""Configs as people write them before they have read a page, and what has to be said of each."""

from __future__ import annotations

from typing import TypeAlias

Typed: TypeAlias = tuple[str, str, int | None, str | None, str]
"""Name, text, line, field, and a part of the message: the line that works, or what the slip is."""
KEY = "sk-proj-abcdef0123456789"
"""No key of anybody's."""
PASSWORD = "Hunter2OfMine"
"""A secret without the look of one, which only the name beside it tells."""

FIRST_TYPED: tuple[Typed, ...] = (
    ("three seeds", "seeds: 3\n", 1, "seeds", "`seeds: 1..3` is 3 seeds, and `seeds: [3]` is the seed 3 alone"),
    ("the seed 42", "seeds: 42\n", 1, "seeds", "Write `seeds: [42]`"),
    ("seeds with a dash", "seeds: 1-5\n", 1, "seeds", "Write `seeds: 1..5`"),
    ("seeds in words", "seeds: 1 to 5\n", 1, "seeds", "Write `seeds: 1..5`"),
    ("three dots", "seeds: 1...5\n", 1, "seeds", "Write `seeds: 1..5`"),
    ("seeds without brackets", "seeds: 1, 2, 3\n", 1, "seeds", "Write `seeds: [1, 2, 3]`"),
    ("Python's range", "seeds: range(5)\n", 1, "seeds", "Write `seeds: 0..4`"),
    ("counted seeds", "seeds: 5 seeds\n", 1, "seeds", "`seeds: 1..5` is 5 seeds"),
    ("a seed in quotes", "seeds: ['1']\n", 1, "seeds[0]", "Write `1`"),
    ("a budget of a hundred", "budget: 100\n", 1, "budget", "`budget: {evaluations: 100}`"),
    ("a budget of dollars", "budget: $5\n", 1, "budget", "`budget: {usd: 5}`"),
    ("a budget of cents", "budget: 50 cents\n", 1, "budget", "`budget: {usd: 0.5}`"),
    ("a budget of USD", "budget: 2.50 USD\n", 1, "budget", "`budget: {usd: 2.5}`"),
    ("a budget of thousands", "budget: 10k\n", 1, "budget", "`budget: {evaluations: 10000}`"),
    ("a budget of minutes", "budget: 5m\n", 1, "budget", "`budget: {seconds: 300}`"),
    ("a budget of hours", "budget: 2 hours\n", 1, "budget", "`budget: {seconds: 7200}`"),
    ("a budget of tokens", "budget: 1M tokens\n", 1, "budget", "`budget: {tokens: 1000000}`"),
    ("a budget of calls", "budget: 50 calls\n", 1, "budget", "`budget: {llm_calls: 50}`"),
    ("a budget of evaluations", "budget: 1,000 evaluations\n", 1, "budget", "`budget: {evaluations: 1000}`"),
    ("a budget as a list", "budget:\n- evaluations: 3\n", 1, "budget", "Write `budget: {evaluations: 3}`"),
    ("a budget of a run", "run_budget: $20\n", 1, "run_budget", "`run_budget: {usd: 20}`"),
    ("dollars", "budget:\n  usd: $5\n", 2, "budget.usd", "Write `usd: 5`"),
    ("thousands", "budget:\n  tokens: 10k\n", 2, "budget.tokens", "Write `tokens: 10000`"),
    ("minutes", "budget:\n  seconds: 5m\n", 2, "budget.seconds", "Write `seconds: 300`"),
    ("a number in quotes", "budget:\n  evaluations: '100'\n", 2, "budget.evaluations", "Write `evaluations: 100`"),
    ("minutes of a job", "job_timeout: 10 min\n", 1, "job_timeout", "Write `job_timeout: 600`"),
    ("gigabytes", "sandbox:\n  memory_mb: 4GB\n", 2, "sandbox.memory_mb", "Write `memory_mb: 4096`"),
    ("per cent", "fail_on_error: 50%\n", 1, "fail_on_error", "Write `fail_on_error: 0.5`"),
    ("two workers and a dot", "max_workers: 2.0\n", 1, "max_workers", "Write `max_workers: 2`"),
    ("yes in quotes", "fail_fast: 'yes'\n", 1, "fail_fast", "Write `fail_fast: true`"),
    ("a capital letter", "mode: Stub\n", 1, "mode", "Did you mean `stub`?"),
    ("a date for a run's id", "run_id: 20261123\n", 1, "run_id", 'Write `run_id: "20261123"`'),
    ("one task", "tasks: internal:numeric_param\n", 1, "tasks", "Write `tasks: [internal:numeric_param]`"),
    ("two tasks and a comma", "tasks: a:b, c:d\n", 1, "tasks", "Write `tasks: [a:b, c:d]`"),
    ("one trainer", "trainers: RandomSearch\n", 1, "trainers", "Write `trainers: [RandomSearch]`"),
    ("a trainer without a dash", "trainers:\n  id: NoOp\n", 1, "trainers", "Write `trainers: [{id: NoOp}]`"),
    ("one variant of a model", "llm_variants: gpt-4o\n", 1, "llm_variants", "Write `llm_variants: [gpt-4o]`"),
    ("a tag", "tags: mine\n", 1, "tags", "Write `tags: [mine]`"),
    ("two models that differ", "model: a\nllm: {model: b}\n", 1, "model", "and `llm.model` say different things"),
    ("a suite for a task", "tasks: [internal]\ntrainers: [NoOp]\n", 1, "tasks[0]", "`internal:all` is all of its tasks"),
    ("a pattern of no suite", "tasks: ['nothing:*']\ntrainers: [NoOp]\n", 1, "tasks[0]", "No plugin provides the suite `nothing`"),
    ("a pattern of no task", "tasks: ['internal:z*']\n", 1, "tasks[0]", "No task of `internal` is called like `z*`"),
    ("the heat at the top", "tasks: [internal:all]\ntrainers: [NoOp]\ntemperature: 1\n", 3, "temperature", "`llm: {temperature: 1}`"),
    ("no space", "seeds:[1]\n", 1, None, "write `seeds: [1]`"),
    ("no space, further down", "mode: stub\nseeds:[1]\ntags: [a]\n", 2, None, "write `seeds: [1]`"),
    ("no space before text", "mode:stub\nseeds: [1]\n", 1, None, "write `mode: stub`"),
    ("an equals sign", "mode = stub\n", 1, None, "write `mode: stub`"),
    ("an equals sign, then YAML", "mode = stub\nseeds: [1]\n", 1, None, "write `mode: stub`"),
    ("a no-break space", "mode: stub\nseeds:\xa0[1]\ntags: [a]\n", 2, None, "a no-break space (U+00A0)"),
    ("an indent of no-break spaces", "llm:\n\xa0\xa0model: a\nseeds: [1]\n", 2, None, "It holds U+00A0, which only looks like a space"),
    ("nothing that shows", "mode: stub\n\u200bseeds [1]\ntags: [a]\n", 2, None, "an invisible character (U+200B)"),
    ("a full-width colon", "mode\uff1astub\nseeds: [1]\n", 1, None, "a full-width colon"),
    ("a tab further down", "llm:\n  model: a\n\ttemperature: 1\n", 3, None, "a tab"),
    ("a tab after spaces", "llm:\n  model: a\n  \ttemperature: 1\n", 3, None, "a tab"),
    ("a merge", "mode: stub\n<<<<<<< HEAD\nseeds: [1]\n=======\nseeds: [2]\n>>>>>>> b\n", 2, None, "a marker of a merge"),
    ("the end of a merge", "mode: stub\nseeds: [2]\n>>>>>>> b\n", 3, None, "a marker of a merge"),
    ("no colon", "mode stub\nseeds: [1]\n", 1, None, "write `mode: stub`"),
    ("no colon before a list", "mode: stub\ntasks\n  - a:b\n", 2, None, "write `tasks:`"),
    ("no space after a dash", "tasks:\n  -internal:numeric_param\n", 1, "tasks", "Write `tasks: [internal:numeric_param]`"),
)  # fmt: skip

WITH_A_KEY: tuple[Typed, ...] = (
    ("a key at the top", f"OPENAI_API_KEY: {KEY}\n", 1, "OPENAI_API_KEY", "set the variable in the shell: `export OPENAI_API_KEY=…`"),
    ("a key, as others write it", f"api_key: {KEY}\n", 1, "api_key", "`llm: {api_key_env: NAME}`"),
    ("a key, as in JavaScript", f"llm: {{apiKey: {KEY}}}\n", 1, "llm.apiKey", "is a secret"),
    ("a key in an environment", f"eval_kwargs:\n  env:\n    HF_TOKEN: {KEY}\n", 3, "eval_kwargs.env.HF_TOKEN", "is a secret"),
    ("a key for a model", f"llm:\n  model: {KEY}\n", 2, "llm.model", "looks like a secret key"),
    ("a key in a header", f"llm:\n  extra_headers: {{Authorization: Bearer {KEY}}}\n", 2, "llm.extra_headers", "the name of a variable"),
    ("a key among settings", f"trainers:\n- id: X\n  params: {{note: '{KEY}'}}\n", 3, "trainers[0].params.note", "looks like a secret key"),
    ("a key for a number", f"max_workers: {KEY}\n", 1, "max_workers", "looks like a secret key"),
    ("a key for a task", f"tasks: [{KEY}]\n", 1, "tasks[0]", "looks like a secret key"),
    ("a key without a space", f"OPENAI_API_KEY:{KEY}\n", 1, None, "`export OPENAI_API_KEY=…`"),
    ("a key of a shell", f"OPENAI_API_KEY={KEY}\nmode: stub\n", 1, None, "`export OPENAI_API_KEY=…`"),
    ("a password", f"plugins:\n  options: {{internal: {{password: {KEY}}}}}\n", 2, "plugins.options.internal.password", "is a secret"),
    ("a variable for a key", "llm:\n  api_key: ${OPENAI_API_KEY}\n", 2, "llm.api_key", "`api_key_env: OPENAI_API_KEY`"),
)  # fmt: skip

WITH_A_PASSWORD: tuple[Typed, ...] = (
    ("a password without a colon", f"mode: stub\npassword {PASSWORD}\n", 2, None, "is a secret"),
    ("a password alone", f"password {PASSWORD}\n", 1, None, "is a secret"),
    ("a password without a space", f"mode: stub\nllm:\n  api_key:{PASSWORD}\n", 2, "llm", "looks like a secret key"),
    ("a password in one line", f"llm: {{api_key:{PASSWORD}}}\n", 1, "llm", "looks like a secret key"),
    ("a shouted key", f"api_key: {PASSWORD.upper()}\n", 1, "api_key", "`llm: {api_key_env: NAME}`"),
    ("a key with a dollar", f"llm: {{api_key: ${PASSWORD.upper()}}}\n", 1, "llm.api_key", "`api_key_env: NAME`"),
    ("several keys", f"trainer_kwargs: {{api_keys: [{PASSWORD}]}}\n", 1, "trainer_kwargs.api_keys", "is a secret"),
    ("a name and a password", f"eval_kwargs:\n  credentials: {{user: a, pass: {PASSWORD}}}\n", 2, "eval_kwargs.credentials", "is a secret"),
    ("an environment as a list", f"eval_kwargs: {{env: [OPENAI_API_KEY={PASSWORD}]}}\n", 1, "eval_kwargs.env[0]", "like a secret key"),
    ("a password for an alias", f"password: *{PASSWORD}\n", 1, None, "is a secret"),
    ("a password for a tag", f"password: !{PASSWORD} x\n", 1, None, "is a secret"),
    ("a password for a number", f"max_workers: password {PASSWORD}\n", 1, "max_workers", "a whole number"),
)  # fmt: skip
