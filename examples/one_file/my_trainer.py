"""A trainer in one file."""

from pydantic import BaseModel, ConfigDict

from tracebench_core.contracts import Problem


class Settings(BaseModel):
    """What a config may set."""

    model_config = ConfigDict(extra="forbid")
    steps: int = 5


class Halving:
    """Try values around the best one, each time nearer to it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Search."""
        width = 5.0
        examples = problem.validation or problem.train
        problem.evaluate(problem.initial, examples)
        for _ in range(self.settings.steps):
            with problem.step():
                name = problem.parameters[0].name
                here = float(problem.best.values[name])
                for value in (here - width, here + width):
                    values = {name: value}
                    if not problem.check(values):
                        problem.evaluate(values, examples, parents=[problem.best])
                width /= 2
