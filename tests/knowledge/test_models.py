from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import UsageError
from numatune.knowledge.models import DEFAULT_MODEL, NAMES, SHAPES, known, named


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("DeepSeek-V3", (32, 112)),
        ("DeepSeek-R1", (32, 112)),
        ("DeepSeek-V2-Lite", (22, 32)),
        ("DeepSeek-V2", (24, 80)),
        ("Qwen2-57B-A14B", (40, 56)),
        ("Mixtral-8x7B", (224, 64)),
        ("Mixtral-8x22B", (256, 96)),
        ("Qwen3-30B-A3B", (12, 32)),
    ],
)
def test_shapes_give_the_jobs_of_64_rows(name: str, jobs: tuple[int, int]) -> None:
    model = named(name)
    assert model.moe_intermediate_size is not None
    assert model.hidden_size is not None
    assert (model.moe_intermediate_size // 64, model.hidden_size // 64) == jobs


def test_each_shape_has_a_source_and_sane_sizes() -> None:
    for shape in SHAPES:
        assert shape.source.startswith("https://huggingface.co/")
        assert 0 < shape.experts_per_token < shape.experts
        assert shape.name in NAMES
        assert named(shape.name).name == shape.name


@pytest.mark.parametrize(
    ("written", "inner"),
    [
        ("deepseek-r1", 2048),
        ("DeepSeek R1 Q4_K_M", 2048),
        ("DeepSeek-V3/R1 shapes", 2048),
        ("unsloth/DeepSeek-R1-0528-GGUF", 2048),
        ("DeepSeek-V3.1", 2048),
        ("R1", 2048),
        ("DeepSeek-V2.5", 1536),
        ("deepseek-ai/DeepSeek-V2-Lite-Chat", 1408),
        ("DeepSeek-Coder-V2-Lite-Instruct", 1408),
        ("Mixtral-8x7B-Instruct-v0.1", 14336),
    ],
)
def test_names_as_people_write_them(written: str, inner: int) -> None:
    model = known(written)
    assert model is not None
    assert (model.name, model.moe_intermediate_size) == (written, inner)


@pytest.mark.parametrize(
    "name", ["", "llama3.2:3b", "DeepSeek-R1-Distill-Llama-70B", "DeepSeek-V30", "R10", "/"]
)
def test_other_models_are_not_taken_for_one(name: str) -> None:
    assert known(name) is None


def test_the_size_of_a_file_follows_from_its_quantisation() -> None:
    model = named("DeepSeek-R1 Q8_0")
    assert (model.total_bytes, model.active_bytes_per_token) == (713 * 10**9, 39_300_000_000)
    assert named("DeepSeek-R1").total_bytes is None
    assert named("Qwen3-30B-A3B Q4_K_M").total_bytes is None


def test_an_unknown_name_is_refused_with_what_is_known() -> None:
    with pytest.raises(UsageError, match=r"did you mean deepseek-r1\?; known are DeepSeek-R1, "):
        named("deepsek-r1")
    with pytest.raises(UsageError, match="add --moe-intermediate-size and --hidden-size"):
        named("gpt-5")


def test_the_default_is_the_model_of_most_reports() -> None:
    assert named("DeepSeek-R1") == DEFAULT_MODEL


@given(st.text(max_size=80))
def test_any_name_is_known_or_not(name: str) -> None:
    known(name)
