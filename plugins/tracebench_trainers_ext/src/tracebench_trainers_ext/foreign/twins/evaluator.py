"""The evaluator file of libraries that evolve a file: they load it by its path, in whatever process they like."""

from texts import evaluated


def evaluate(path):
    """Return the score and the words on a program's file, in the form that SkyDiscover and OpenEvolve take."""
    with open(path) as file:
        metrics, words = evaluated(file.read())
    try:
        from openevolve.evaluation_result import EvaluationResult
    except ImportError:
        return {**metrics, "artifacts": {"feedback": words}}
    return EvaluationResult(metrics=metrics, artifacts={"feedback": words})
