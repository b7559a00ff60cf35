"""Modules around the models of a hub, as level 4 has them: judged by the real server, with no hub to ask."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from plugins.tracebench_kernelbench.tests.serving import TINY, serving
from pydantic import ValidationError
from tests.fake_hub import COMMIT, FakeHub
from tests.warm import trace_bench

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.level4.prepared import (
    CONFIG,
    is_name,
    read_sums,
    told_models,
    wraps_model,
    write_sums,
)
from tracebench_kernelbench.server.orders import Order, Submission, sent

HEAD = "import torch\nfrom transformers import AutoModelForCausalLM, AutoConfig\n"
CODE = (
    HEAD
    + """
class Model(torch.nn.Module):
    def __init__(self, model_name, config):
        super().__init__()
        self.model_name = model_name
        self.config = config
        self.model = AutoModelForCausalLM.from_pretrained(self.model_name, config=self.config)

    def forward(self, x):
        return self.model(x).logits

model_name = "NAME"
config = AutoConfig.from_pretrained(model_name)
vocab_size = config.vocab_size

def get_inputs():
    return [torch.randint(0, vocab_size, (4, 16))]

def get_init_inputs():
    return [model_name, config]
"""
)
"""In the shape of level 4, at a size that takes milliseconds."""
IN_WORDS = (
    HEAD.replace("AutoConfig", "GPT2Config")
    + """
class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = AutoModelForCausalLM.from_config(config).eval()

    def forward(self, x):
        return self.model(x).logits

def get_inputs():
    return [torch.randint(0, 96, (4, 16))]

def get_init_inputs():
    return [GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=96, n_positions=32, bos_token_id=0, eos_token_id=0)]
"""
)
"""The same without a hub's names."""
_ENDS = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
SMALL: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2", "n_layer": 2, "n_embd": 32, "n_head": 2, "vocab_size": 96, "n_positions": 32},
    "EleutherAI/gpt-neo-2.7B": {
        "model_type": "gpt_neo", "hidden_size": 32, "num_layers": 2, "num_heads": 2, "vocab_size": 96,
        "attention_types": [[["global", "local"], 1]],
    },
    "facebook/opt-1.3b": {
        "model_type": "opt", "hidden_size": 32, "word_embed_proj_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "ffn_dim": 64, "vocab_size": 96,
    },
    "google/bigbird-roberta-base": {
        "model_type": "big_bird", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
        "vocab_size": 96, "is_decoder": True, "attention_type": "original_full",
    },
    "google/electra-small-discriminator": {
        "model_type": "electra", "hidden_size": 32, "embedding_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "vocab_size": 96, "is_decoder": True,
    },
    "google/reformer-enwik8": {
        "model_type": "reformer", "hidden_size": 32, "num_attention_heads": 2, "attention_head_size": 16, "feed_forward_size": 64,
        "vocab_size": 96, "axial_pos_shape": [4, 4], "axial_pos_embds_dim": [16, 16], "attn_layers": ["local", "local"],
        "is_decoder": True, "local_attn_chunk_length": 8, "hash_seed": 7,
    },
    "facebook/bart-large": {
        "model_type": "bart", "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 96,
    },
}  # fmt: skip
"""The seven models that level 4 names, made small."""
CONFIGS = {name: config | _ENDS for name, config in SMALL.items()}
needs_models = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("torch") is None,
    reason='transformers is not installed: pip install "tracebench-kernelbench[models]"',
)


def of(name: str) -> str:
    return CODE.replace("NAME", name)


def new(code: str) -> str:
    return code.replace("class Model(", "class ModelNew(")


def folder_of(root: Path, name: str, config: dict[str, Any], **files: bytes) -> Path:
    place = root / "models" / name
    place.mkdir(parents=True)
    (place / CONFIG).write_text(json.dumps(config))
    for file, data in files.items():
        (place / file.replace("_", ".")).write_bytes(data)
    return place


def test_a_folder_says_by_its_sums_what_belongs_to_it(tmp_path: Path) -> None:
    place = folder_of(tmp_path, "some/small", {"model_type": "gpt2"})
    code = of("some/small")

    with pytest.raises(NotMeasured, match=f"was not prepared.*kernelbench models {tmp_path} some/small"):
        told_models(code, {}, str(tmp_path))
    assert list(write_sums(place)) == [CONFIG]
    assert told_models(code, {}, str(tmp_path)) == {"some/small": {"config": {"model_type": "gpt2"}}}

    (place / "model.safetensors").write_bytes(b"numbers")
    with pytest.raises(NotMeasured, match=r"model\.safetensors` is not the file that was prepared"):
        told_models(code, {}, str(tmp_path))
    write_sums(place)
    assert read_sums(place)["model.safetensors"] == "f3c7807d475073ba009bf4801b2d934e9f0126cb96dd19a27dbffcae23a7f5a3"
    assert told_models(code, {}, str(tmp_path)) == {"some/small": {"path": str(place)}}

    (place / "model.safetensors").write_bytes(b"letters")
    with pytest.raises(NotMeasured, match=r"model\.safetensors` is not the file that was prepared"):
        told_models(code, {}, str(tmp_path))


@pytest.mark.parametrize("name", ["../gpt2", "a/../b", "/gpt2", "a/b/c", "", "a b", "x" * 201])
def test_what_is_no_place_below_the_root_is_no_name(name: str, tmp_path: Path) -> None:
    assert not is_name(name)
    assert told_models(f"import transformers\nname = {name!r}", {}, str(tmp_path)) == {}
    with pytest.raises(ValidationError, match="no name of a model"):
        Submission.model_validate({"custom_cuda": "", "models": {name: {"model_type": "gpt2"}}})


def test_what_is_sent_of_models_arrives_and_names_no_folder_of_the_server() -> None:
    order = Order(source="x", reference=of("gpt2"), backend="torch", models={"gpt2": CONFIGS["gpt2"]})

    assert Submission.model_validate(sent(order)).order() == order
    assert not Submission.model_validate(sent(order) | {"root": "/etc"}).order().root
    with pytest.raises(ValidationError, match="says no `model_type`"):
        Submission.model_validate({"custom_cuda": "", "models": {"gpt2": {"n_layer": 1}}})


def test_a_module_around_a_model_is_told_by_what_it_imports() -> None:
    assert wraps_model(CODE)
    assert wraps_model("import transformers.models as m")
    assert not wraps_model("name = 'transformers'")
    assert not wraps_model("class (")


def _models(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, "NO_COLOR": "1", **environment}
    return trace_bench("kernelbench", "models", *arguments, folder=Path.cwd(), environ=told, timeout=170)


def test_models_are_prepared_from_a_hub_or_from_what_lies_there(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub", reason='needs `pip install "tracebench-kernelbench[hub]"`')
    held = tmp_path / "hub" / "some" / "small"
    held.mkdir(parents=True)
    for name in (CONFIG, "model.safetensors", "pytorch_model.bin", "README.md"):
        (held / name).write_text("{}")
    root = tmp_path / "root"
    with FakeHub.open(tmp_path / "hub") as hub:
        home = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home")}
        done = _models(str(root), "some/small", "--revision", COMMIT, **home)
        without = _models(str(tmp_path / "other"), "some/small", "--no-weights", "--revision", COMMIT, **home)
        missing = _models(str(root), "some/large", **home)

    assert done.returncode == 0, done.stderr
    assert "some/small: 1 files of weights, 0 MB" in done.stdout
    assert sorted(read_sums(root / "models/some/small")) == [CONFIG, "model.safetensors"]
    assert "no weights: they are made from a seed" in without.stdout
    assert missing.returncode != 0
    assert "Traceback" not in missing.stderr
    assert f"kernelbench models --kept {root} some/large" in missing.stderr

    folder_of(root, "some/large", {"model_type": "gpt2"})
    kept = _models("--kept", str(root), "some/large")
    assert kept.returncode == 0, kept.stderr
    assert list(read_sums(root / "models/some/large")) == [CONFIG]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Path]]:
    """A server whose root has a level 4, and models with weights of their own: one as prepared, and one that was changed since."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    root = tmp_path_factory.mktemp("root")
    torch.manual_seed(5)
    for name in ("some/small", "some/changed", "some/bare"):
        config = AutoConfig.for_model(**CONFIGS["gpt2"])
        if name == "some/bare":
            config.save_pretrained(root / "models" / name)
        else:
            AutoModelForCausalLM.from_config(config).save_pretrained(root / "models" / name)
        write_sums(root / "models" / name)
    weights = root / "models/some/changed/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    (root / "level4").mkdir()
    (root / "level4/16_gpt2_bs1_seq1023.py").write_text(of("some/small"))
    with serving("--root", str(root)) as (address, _), httpx.Client(base_url=address, trust_env=False) as http:
        yield http, root


def ask(http: httpx.Client, source: str, **body: Any) -> dict[str, Any]:
    """In the shape of upstream's client."""
    asked = {"problem_id": 16, "sample_id": 0, "level": 4, "ref_arch_src": "", "custom_cuda": source, "timeout": 300}
    answer = http.post("/evaluate_sync", json=asked | {"effort": TINY} | body, timeout=320)
    told: dict[str, Any] = answer.json()
    return told


def result(told: dict[str, Any]) -> tuple[bool, str]:
    assert told["status"] == "completed", told
    return told["result"]["correctness"], told["result"]["metadata"]["text"]


SHAPES = {
    **{name: (of(name), {name: config}) for name, config in CONFIGS.items()},
    "a configuration in the code": (IN_WORDS, {}),
    "a folder without weights": (of("some/bare"), {}),
    "a folder with weights": (of("some/small"), {}),
    "a class of its own": (
        of("gpt2").replace("AutoModelForCausalLM", "GPT2LMHeadModel").replace("AutoConfig", "GPT2Config"),
        {"gpt2": CONFIGS["gpt2"]},
    ),
}


@needs_models
@pytest.mark.heavy("torch")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_is_right_against_itself_and_wrong_where_it_differs(
    shape: str, server: tuple[httpx.Client, Path]
) -> None:
    code, models = SHAPES[shape]
    http, _ = server

    right, text = result(ask(http, new(code), ref_arch_src=code, models=models))
    assert right, text
    assert ("made from a seed" in text) == (bool(models) or "bare" in code)

    wrong, text = result(ask(http, new(code).replace(".logits", ".logits * 1.001"), ref_arch_src=code, models=models))
    assert not wrong
    assert "values are wrong" in text


@needs_models
@pytest.mark.heavy("torch")
@pytest.mark.timeout(900)
def test_weights_of_a_folder_are_those_that_are_used(server: tuple[httpx.Client, Path]) -> None:
    """A candidate that holds them as numbers is right, and one that makes others is wrong; by the level's number, no code is sent."""
    from safetensors.numpy import load_file

    http, root = server
    bias = load_file(root / "models/some/small/model.safetensors")["transformer.wte.weight"][3, :4].tolist()
    code = of("some/small")
    holds = new(code).replace(
        "    def forward(self, x):",
        f"        assert self.model.transformer.wte.weight[3, :4].tolist() == {bias!r}\n\n    def forward(self, x):",
    )
    others = new(code).replace(
        "from_pretrained(self.model_name, config=self.config)", "from_config(self.config).eval()"
    )

    right, text = result(ask(http, holds))
    assert right, text
    wrong, text = result(ask(http, others))
    assert not wrong
    assert "values are wrong" in text


@needs_models
@pytest.mark.heavy("torch")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("where", "body"),
    [
        (".half().float()", ".logits.half().float()"),
        ("weights", ""),
    ],
)
def test_half_precision_does_not_pass_where_inputs_are_token_ids(
    where: str, body: str, server: tuple[httpx.Client, Path]
) -> None:
    http, _ = server
    code, models = of("gpt2"), {"gpt2": CONFIGS["gpt2"]}
    source = new(code).replace(".logits", body or ".logits")
    if where == "weights":
        source = source.replace(
            "    def forward(self, x):", "        self.model.half().float()\n\n    def forward(self, x):"
        )

    right, text = result(ask(http, source, ref_arch_src=code, models=models))

    assert not right, text
    assert "values are wrong" in text


@needs_models
@pytest.mark.heavy("torch")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "some/unknown",
            "the model `some/unknown` is not prepared: trace-bench kernelbench models {root} some/unknown",
        ),
        (
            "some/changed",
            "model.safetensors` is not the file that was prepared: trace-bench kernelbench models {root} some/changed",
        ),
    ],
)
def test_what_is_not_there_as_it_was_prepared_is_refused_with_the_command(
    name: str, words: str, server: tuple[httpx.Client, Path]
) -> None:
    http, root = server

    told = ask(http, new(of(name)), ref_arch_src=of(name))

    assert told["status"] == "failed"
    assert words.format(root=root) in told["error"]
