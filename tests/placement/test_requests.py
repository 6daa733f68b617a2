from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.errors import UsageError
from numatune.placement.request import Model, Request
from numatune.placement.requests import request_of


def test_a_whole_request() -> None:
    request = request_of(
        {
            "runtime": "kt-kernel",
            "version": "0.7.0",
            "commit": "95009ea6",
            "cpu_infer": 16,
            "flags": {
                "--kt-threadpool-count": 2,
                "--kt-numa-nodes": [0, 1],
                "--kt-method": "LLAMAFILE",
            },
            "env": {"OMP_PLACES": "cores", "OMP_NUM_THREADS": 8, "UNSET": None, "EMPTY": ""},
            "launcher": "numactl --interleave=all",
            "instances": 2,
            "gpus": 0,
            "numa_requested": True,
            "model": {"name": "mine", "bytes": 405874409472, "moe_intermediate_size": 2048},
        }
    )
    assert request == Request(
        runtime="kt-kernel",
        version="0.7.0",
        commit="95009ea6",
        threads=16,
        options={"threadpool_count": 2, "numa_nodes": [0, 1], "kt_method": "LLAMAFILE"},
        env={"OMP_PLACES": "cores", "OMP_NUM_THREADS": "8", "EMPTY": ""},
        launcher="numactl --interleave=all",
        instances=2,
        gpus=0,
        numa_requested=True,
        model=Model("mine", 405874409472, moe_intermediate_size=2048),
    )


def test_a_runtime_is_all_that_is_needed() -> None:
    assert request_of({"runtime": "KT_Kernel"}) == Request("kt-kernel")


def test_an_unknown_runtime_still_gives_a_request() -> None:
    request = request_of(
        {"runtime": "colibri", "threads": 8, "flags": {"--tile-size": 4}, "spin": True}
    )
    assert request == Request("colibri", threads=8, options={"tile_size": 4, "spin": True})


@pytest.mark.parametrize(
    "mapping",
    [
        {"threads": 42},
        {"cpu_infer": "42"},
        {"flags": {"--cpu_infer": 42}},
        {"flags": {"--cpu-infer": "42"}},
        {"threads": 42, "cpu_infer": 42},
    ],
)
def test_the_thread_count_has_several_names(mapping: dict[str, Any]) -> None:
    assert request_of({"runtime": "ktransformers", **mapping}).threads == 42


@pytest.mark.parametrize("flag", ["--kt-cpuinfer", "--cpu-threads", "--kt_cpuinfer"])
def test_the_thread_count_of_kt_kernel(flag: str) -> None:
    assert request_of({"runtime": "kt-kernel", "flags": {flag: 9}}).threads == 9


def test_options_by_their_names_in_python() -> None:
    request = request_of({"runtime": "ktransformers", "task_counts": (32, 112), "numa_build": None})
    assert request.options == {"task_counts": (32, 112)}


def test_a_version_that_yaml_takes_for_a_number() -> None:
    assert request_of({"runtime": "ktransformers", "version": 0.3}).version == "0.3"


def test_a_model_by_name_and_what_a_mapping_leaves_out() -> None:
    by_name = request_of({"runtime": "x", "model": "DeepSeek-R1 Q4_K_M"}).model
    assert by_name is not None
    assert (by_name.hidden_size, by_name.total_bytes) == (7168, 405 * 10**9)
    mapped = request_of({"runtime": "x", "model": {"name": "DeepSeek-R1 Q4_K_M", "bytes": 1}}).model
    assert mapped is not None
    assert (mapped.hidden_size, mapped.total_bytes, mapped.experts) == (7168, 1, 256)


def test_sizes_that_contradict_the_name_are_taken_as_another_model() -> None:
    model = request_of(
        {"runtime": "x", "model": {"name": "DeepSeek-R1", "moe_intermediate_size": 1024}}
    ).model
    assert model == Model("DeepSeek-R1", moe_intermediate_size=1024)


@pytest.mark.parametrize(
    ("mapping", "hint"),
    [
        ({}, "names no runtime"),
        ({"runtime": None}, "names no runtime"),
        ({"runtime": 3.5}, None),
        ({"runtime": ["x"]}, "runtime must be a text"),
        ({"runtime": "ktransformers", "thread": 3}, "did you mean threads"),
        ({"runtime": "ktransformers", "threadpool_count": 2}, "has no threadpool_count"),
        ({"runtime": "ktransformers", 5: 2}, "has no 5"),
        ({"runtime": "kt-kernel", "flags": {"--kt-threadpool-cout": 2}}, "--kt-threadpool-count"),
        ({"runtime": "kt-kernel", "flags": ["--x"]}, "flags must be a mapping"),
        ({"runtime": "kt-kernel", "flags": {3: 2}}, "flags must have names"),
        ({"runtime": "kt-kernel", "threads": 3, "flags": {"--kt-cpuinfer": 4}}, "3 and as 4|4 and"),
        (
            {"runtime": "kt-kernel", "threadpool_count": 1, "flags": {"--threadpool-count": 2}},
            "given twice",
        ),
        ({"runtime": "ktransformers", "threads": 0}, "0 is too small"),
        ({"runtime": "ktransformers", "threads": -1}, "-1 is too small"),
        ({"runtime": "ktransformers", "threads": "x"}, "x is not a whole number"),
        ({"runtime": "ktransformers", "threads": 10**9}, "beyond what is simulated"),
        ({"runtime": "ktransformers", "instances": 0}, "instances 0"),
        ({"runtime": "ktransformers", "gpus": -1}, "gpus -1"),
        ({"runtime": "ktransformers", "numa_build": "maybe"}, "numa_build must be true or false"),
        ({"runtime": "ktransformers", "version": True}, "version must be a text"),
        ({"runtime": "ktransformers", "version": "1" * 9999}, "version is too long"),
        ({"runtime": "ktransformers", "env": "A=1"}, "env must be a mapping"),
        ({"runtime": "ktransformers", "env": {"A": []}}, "the variable A must be a text"),
        ({"runtime": "ktransformers", "model": "gpt-5"}, "the model 'gpt-5' is not known"),
        ({"runtime": "ktransformers", "model": 7}, "model must be a mapping"),
        ({"runtime": "ktransformers", "model": {"size": 7}}, "a model has no size"),
        ({"runtime": "ktransformers", "model": {"bytes": -7}}, "total_bytes -7"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(mapping: dict[Any, Any], hint: str | None) -> None:
    if hint is None:
        assert request_of(mapping).runtime == "3.5"
        return
    with pytest.raises(UsageError, match=hint) as caught:
        request_of(mapping)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["version", "threads", "flags", "env", "launcher", "instances", "model",
                         "numa_build", "task_counts", "commit", "numa_nodes", "other"]),
        anything,
        max_size=4,
    ),
    st.sampled_from(["ktransformers", "kt-kernel", "other"]),
)  # fmt: skip
def test_any_mapping_gives_a_request_or_one_clear_error(
    mapping: dict[str, object], runtime: str
) -> None:
    with contextlib.suppress(UsageError):
        assert request_of({"runtime": runtime, **mapping}).runtime == runtime
