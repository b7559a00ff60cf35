"""gepa's own engine."""

import gepa
import recorded
from recorded import settings
from texts import ask, planned_calls, read, side_information


class Adapter:
    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        found = recorded.measure(read(candidate), batch)
        scores = [one.score for one in found]
        return gepa.EvaluationBatch(outputs=scores, scores=scores, trajectories=found if capture_traces else None)

    def make_reflective_dataset(self, candidate, eval_batch, components):
        return dict.fromkeys(components, [side_information(one) for one in eval_batch.trajectories])


templates = {
    name: settings.template.format(objective=recorded.objective, role=recorded.describe(name))
    for name, parameter in recorded.parameters.items()
    if parameter.kind != "text"
}
given = {
    "seed_candidate": recorded.initial,
    "trainset": recorded.train,
    "valset": recorded.validation,
    "adapter": Adapter(),
    "reflection_lm": ask,
    "reflection_prompt_template": templates or None,
    "candidate_selection_strategy": settings.candidate_selection_strategy,
    "reflection_minibatch_size": min(settings.reflection_minibatch_size, len(recorded.train)),
    "skip_perfect_score": settings.perfect_score is not None,
    "perfect_score": 1.0 if settings.perfect_score is None else settings.perfect_score,
    "module_selector": settings.module_selector,
    "acceptance_criterion": settings.acceptance_criterion,
    "use_merge": settings.use_merge,
    "max_merge_invocations": settings.max_merge_invocations,
    "max_metric_calls": planned_calls(),
    "seed": recorded.seed,
}
gepa.optimize(**{**given, **settings.library})
