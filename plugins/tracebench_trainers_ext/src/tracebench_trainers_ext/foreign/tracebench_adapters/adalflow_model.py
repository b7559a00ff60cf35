"""AdalFlow's view of the job's model, and its parser of proposals."""

import re

import adalflow
from adalflow.core.types import GeneratorOutput
from adalflow.optim.text_grad.tgd_optimizer import CustomizedXMLParser, TGDData

SYSTEM = re.compile(r"<START_OF_SYSTEM_PROMPT>(.*?)<END_OF_SYSTEM_PROMPT>(.*)", re.DOTALL)
PROPOSED = re.compile(r"<proposed_variable>(.*)</proposed_variable>", re.DOTALL)
UNREAD = "Error"
"""The method that the library's parser tells of when an answer was no XML."""


class GatewayClient(adalflow.ModelClient):
    """Asks the job's model, without the library's cache and retries."""

    def __init__(self, model, task):
        super().__init__()
        self.name = model.name
        self._model = model
        self._task = task

    def convert_inputs_to_api_kwargs(self, input=None, model_kwargs=None, model_type=None):  # noqa: A002 - the library's
        """Return the messages of a prompt, whose system part the library marks."""
        found = SYSTEM.search(input)
        if found is None:
            return {"messages": [{"role": "user", "content": input}]}
        roles = zip(("system", "user"), found.groups())
        return {"messages": [{"role": role, "content": text.strip()} for role, text in roles]}

    def call(self, api_kwargs=None, model_type=None):
        """Return the answer's text."""
        self._task.propose()
        return self._model.ask(api_kwargs["messages"])[0]

    def parse_chat_completion(self, completion):
        """Return the text as the library wants it."""
        return GeneratorOutput(raw_response=completion)


class LenientParser(CustomizedXMLParser):
    """The library's parser, which takes the whole answer for the variable when code in it makes it no XML."""

    def __init__(self, task):
        super().__init__()
        self._task = task

    def call(self, input):  # noqa: A002 - the library's own name
        """Return what the answer proposes; nothing, which keeps the value, where it has no such part."""
        data = super().call(input)
        if data.method != UNREAD:
            return data
        found = PROPOSED.search(input)
        if found is None:
            self._task.problem.log("unreadable_answer", 1.0)
        return TGDData(reasoning="", method="", proposed_variable=found[1].strip() if found else "")
