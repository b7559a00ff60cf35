"""The page with sliders: what each optimizer had by a smaller budget or at other prices, from receipts alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from tracebench_open.bench.alone.receipts import Data, Receipt, counts, draw_of, load, selected

WHAT_IF = "what-if.html"


def followed(receipt: Receipt) -> Iterator[Data]:
    """Yield each job: whose it is, its scores, and its steps as [calls, evaluations, prompt and completion tokens, best].

    `best` is what the trainer had measured of its best candidate by then. `found` is the step that made the candidate which the job
    returned, or -1 where that is the initial one. Tokens are those of the first calls of the job in the ledger.
    """
    tokens = _tokens(receipt)
    without_test = selected(receipt.manifest["jobs"], receipt.results)
    for job in receipt.manifest["jobs"]:
        result, own = receipt.results[job["job_id"]], tokens.get(job["job_id"], [(0, 0)])
        chosen = job["task_id"] in without_test
        steps = []
        for step in result["steps"]:
            calls = min(step["used"]["llm_calls"], len(own) - 1)
            steps.append([calls, step["used"]["evaluations"], *own[calls], _short(step["best"])])
        yield {
            "task": job["task_id"],
            "trainer": job["trainer_id"],
            "draw": draw_of(job),
            "initial": _short(counts(result, chosen=chosen, initial=True)),
            "returned": _short(counts(result, chosen=chosen)),
            "found": -1 if result["best_step"] is None else result["best_step"],
            "steps": steps,
        }


def _tokens(receipt: Receipt) -> dict[str, list[tuple[int, int]]]:
    """Return for each job the tokens of its first n calls, n from 0."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in receipt.files.get("llm/ledger.jsonl", b"").splitlines():
        record = load(line, "a line of the ledger")
        if record["kind"] == "llm_call" and record["phase"] == "training" and record["status"] == "ok":
            own = found.setdefault(record["job_id"], [(0, 0)])
            own.append((own[-1][0] + record["prompt_tokens"], own[-1][1] + record["completion_tokens"]))
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def what_if(bench: Data, receipts: Mapping[str, Receipt]) -> str:
    """Return the page, one file that opens from disk and asks the network for nothing."""
    parts: list[Data] = []
    without_test: set[str] = set()
    for part in bench["parts"]:
        receipt = receipts[part["name"]]
        without_test |= selected(receipt.manifest["jobs"], receipt.results)
        jobs = [*followed(receipt)]
        names = {kind: list(dict.fromkeys(job[kind] for job in jobs)) for kind in ("task", "trainer", "draw")}
        rows: list[list[Any]] = [
            [
                *(names[kind].index(job[kind]) for kind in names),
                job["initial"],
                job["returned"],
                job["found"],
                job["steps"],
            ]
            for job in jobs
        ]
        parts.append({"title": part["title"], "by_draw": part["one_scale"], **names, "jobs": rows})
    data = json.dumps({"prices": bench["prices"], "parts": parts}, separators=(",", ":")).replace("<", "\\u003c")
    note = (
        NOTE.format(", ".join(f"<code>{escape(task)}</code>" for task in sorted(without_test))) if without_test else ""
    )
    return PAGE.replace("@NOTE@", note).replace("@DATA@", data)


NOTE = """
<p>These tasks have no test split: {}. Their scores, which are not held out, are those on the examples that winners were chosen on.</p>"""


PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>The open bench: other budgets and prices</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
label { display: grid; grid-template-columns: minmax(0, 15rem) 1fr 5rem; gap: 1rem; align-items: center; }
input { width: 100%; min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 1rem; width: 100%; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
output { font-variant-numeric: tabular-nums; }
</style>
<main>
<h1>Other budgets and prices</h1>
<p>Every job of the page is cut where its next step would go past a cap below. Its score is what is known of that moment: the held-out
score of the candidate that it returned if it had found it by then, else that of the initial one. What it had in between was never scored,
so an optimizer that improves often is shown too low at small caps. What a job would have done at a higher cap is not known.</p>@NOTE@
<p><label>Part <select id="part"></select></label></p>
<div id="sliders"></div>
<div class="wide" tabindex="0" role="region" aria-label="optimizers">
<table>
<thead><tr><th>optimizer</th><th>mean rank</th><th>known score</th><th>had found it</th><th>as it measured</th><th>calls</th>
<th>evaluations</th><th>USD</th></tr></thead>
<tbody id="rows"></tbody>
</table>
</div>
<p>Known score and its rank are over all tasks of the part, each draw or task a block, as on the page. <em>As it measured</em> is what the
optimizer thought of its best by then, on the examples that it chose to measure, which differ between optimizers.</p>
</main>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const [TASK, TRAINER, DRAW, INITIAL, RETURNED, FOUND, STEPS] = [0, 1, 2, 3, 4, 5, 6];
const mean = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;
const chooser = document.getElementById("part");
const at = {};
let part;

const usdOf = (step) => (step[2] * at.prompt.value + step[3] * at.completion.value) / 1e6;

function slider(name, words, max, value, shown) {
  const label = document.createElement("label"), input = document.createElement("input"), told = document.createElement("output");
  Object.assign(input, { type: "range", min: 0, max: 1000, step: 1, id: name });
  input.setAttribute("aria-label", words);
  at[name] = { get value() { return max * input.value / 1000; }, tell() { told.textContent = shown(this.value); } };
  input.value = Math.round(1000 * value / max);
  input.addEventListener("input", draw);
  label.append(words, input, told);
  document.getElementById("sliders").append(label);
}

function open() {
  part = data.parts[chooser.value];
  document.getElementById("sliders").replaceChildren();
  const most = (of) => Math.max(1e-9, ...part.jobs.map((job) => job[STEPS].length ? of(job[STEPS].at(-1)) : 0));
  const usd = (x) => x.toFixed(5);
  slider("prompt", "USD per million prompt tokens", 10 * data.prices.prompt, data.prices.prompt, (x) => x.toFixed(3));
  slider("completion", "USD per million completion tokens", 10 * data.prices.completion, data.prices.completion, (x) => x.toFixed(3));
  const whole = (x) => String(Math.floor(x + 1e-9));
  slider("calls", "calls, at most", most((s) => s[0]), most((s) => s[0]), whole);
  slider("evaluations", "evaluations, at most", most((s) => s[1]), most((s) => s[1]), whole);
  slider("usd", "USD, at most", 10 * most(usdOf), 10 * most(usdOf), usd);
  draw();
}

function stateOf(job) {
  let last = -1;
  const fits = (s) => s[0] <= at.calls.value + 1e-9 && s[1] <= at.evaluations.value + 1e-9 && usdOf(s) <= at.usd.value * (1 + 1e-9);
  while (last + 1 < job[STEPS].length && fits(job[STEPS][last + 1])) last += 1;
  const found = last >= job[FOUND], step = last < 0 ? [0, 0, 0, 0, null] : job[STEPS][last];
  return { found, known: found ? job[RETURNED] : job[INITIAL], measured: step[4], calls: step[0], evaluations: step[1], usd: usdOf(step) };
}

function ranksOf(scores) {
  return scores.map((own) => 1 + scores.filter((x) => x > own).length + (scores.filter((x) => x === own).length - 1) / 2);
}

function draw() {
  Object.values(at).forEach((one) => one.tell());
  const rows = part.trainer.map(() => []), blocks = new Map();
  for (const job of part.jobs) {
    const state = stateOf(job), block = part.by_draw ? `${job[TASK]} ${job[DRAW]}` : `${job[TASK]}`;
    rows[job[TRAINER]].push(state);
    if (!blocks.has(block)) blocks.set(block, part.trainer.map(() => []));
    blocks.get(block)[job[TRAINER]].push(state.known);
  }
  const whole = rows.map((row) => row.every((s) => s.known !== null));
  const places = part.trainer.map(() => []);
  for (const scores of blocks.values()) {
    const own = scores.map((xs, i) => (whole[i] ? mean(xs) : null)), kept = own.filter((x) => x !== null), ranked = ranksOf(kept);
    let next = 0;
    own.forEach((x, i) => { if (x !== null) places[i].push(ranked[next++]); });
  }
  const told = part.trainer.map((name, i) => {
    const row = rows[i], measured = row.map((s) => s.measured).filter((x) => x !== null);
    const number = (xs, digits) => (xs.length ? mean(xs).toFixed(digits) : "");
    return [name, number(places[i], 2), whole[i] ? number(row.map((s) => s.known), 3) : "missing",
      `${Math.round(100 * mean(row.map((s) => Number(s.found))))}%`, number(measured, 3), number(row.map((s) => s.calls), 1),
      number(row.map((s) => s.evaluations), 1), number(row.map((s) => s.usd), 5)];
  });
  told.sort((a, b) => (a[1] || Infinity) - (b[1] || Infinity));
  document.getElementById("rows").replaceChildren(...told.map((cells) => {
    const line = document.createElement("tr");
    line.append(...cells.map((words) => Object.assign(document.createElement("td"), { textContent: words })));
    return line;
  }));
}

data.parts.forEach((one, i) => chooser.append(Object.assign(document.createElement("option"), { value: i, textContent: one.title })));
chooser.addEventListener("change", open);
open();
</script>
"""
