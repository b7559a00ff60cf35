"""Loads, where a sandbox opens, what transformers would load when a model is made first: a session could not open these packages any more.

A model's own file is part of transformers, and is loaded by whoever makes one.
"""

from __future__ import annotations

from transformers import AutoConfig, AutoModelForCausalLM

_SMALL = {
    "n_layer": 1,
    "n_embd": 8,
    "n_head": 2,
    "vocab_size": 8,
    "n_positions": 8,
    "bos_token_id": 0,
    "eos_token_id": 0,
}

AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt2", **_SMALL))
