"""The code that lets a session make models by the names of a hub: from what is prepared, and without asking for anything else.

It runs before a problem's module and before a candidate alike; a candidate that undoes it gets other weights, or none.
"""

from __future__ import annotations

from tracebench_kernelbench.level4.prepared import Told, command

_SHIM = """
import os
os.environ["HF_DEACTIVATE_ASYNC_LOAD"] = "1"  # a session starts no thread

def _judge_prepare(models, hint):
    import transformers
    from transformers.models.auto.auto_factory import _BaseAutoModelClass as AutoModelClass

    mapping, asked = transformers.CONFIG_MAPPING, ("attn_implementation", "dtype", "torch_dtype")
    paths = {told["path"] for told in models.values() if "path" in told}

    def known(name):
        if str(name) in paths:
            return {"path": str(name)}
        if str(name) not in models:
            raise LookupError(f"the model `{name}` is not prepared: {hint.replace('NAME', str(name))}")
        return models[str(name)]

    def configured(own, made):
        def from_pretrained(cls, name, *args, **options):
            told = known(name)
            if "path" in told:
                return own(cls, told["path"], *args, **options)
            return made(cls, dict(told["config"]), options)
        return classmethod(from_pretrained)

    def modelled(own, made):
        def from_pretrained(cls, name, *args, config=None, **options):
            told = known(name)
            if "path" in told:
                return own(cls, told["path"], *args, config=config, **options)
            config = _judge_configured(told["config"]) if config is None else config
            return made(cls)(config, **{key: options[key] for key in asked if key in options}).eval()
        return classmethod(from_pretrained)

    def replace(kind, how, made):
        kind.from_pretrained = how(kind.__dict__["from_pretrained"].__func__, made)

    replace(transformers.AutoConfig, configured, lambda cls, told, options: _judge_configured(told, **options))
    replace(transformers.PretrainedConfig, configured, lambda cls, told, options: cls.from_dict(told, **options))
    replace(AutoModelClass, modelled, lambda cls: cls.from_config)
    replace(transformers.PreTrainedModel, modelled, lambda cls: cls._from_config)

def _judge_configured(told, **options):
    import transformers
    return transformers.CONFIG_MAPPING[told["model_type"]].from_dict(dict(told), **options)

_judge_plain_of_torch, _judge_given_of_torch = globals().get("_judge_plain"), globals().get("_judge_given")

def _judge_plain(value):
    import json, transformers
    if isinstance(value, transformers.PretrainedConfig):
        return None, {"_judge_config": json.loads(value.to_json_string())}
    return _judge_plain_of_torch(value)

def _judge_given(array, value):
    if isinstance(value, dict) and "_judge_config" in value:
        return _judge_configured(value["_judge_config"])
    return _judge_given_of_torch(array, value)
"""


def around_models(models: Told, root: str) -> str:
    """Return what comes before a module that wraps models; `root` is where they are prepared, for whoever has to."""
    return f"{_SHIM}\n_judge_prepare({dict(models)!r}, {command(root, 'NAME')!r})\n"
