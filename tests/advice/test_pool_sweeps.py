"""Sweeps of kt-kernel over numbers of pools."""

import numatune
from numatune.advice.plan import make_plan
from numatune.placement.request import Request
from numatune.placement.requests import request_of
from numatune.placement.sweep import sweep
from numatune.runtimes import kt_kernel


def asked(**options: object) -> Request:
    return request_of({"runtime": "kt-kernel", "threads": 40, **options})


def test_each_number_of_pools_is_swept() -> None:
    machine = numatune.read_machine(synthetic="pack:2 group:2 [numa(memory=64GB)] core:12 pu:1")
    [pools] = make_plan(machine, asked(), [("kt-kernel", None)]).pools
    # A free core a node: 11 of 12, times the pools.
    assert {one.pools: one.sweep.recommended for one in pools} == {1: 11, 2: 22, 3: 33, 4: 44}
    release = kt_kernel.release(None, None, None)
    for one in pools:
        same = sweep(machine, asked(threadpool_count=one.pools), kt_kernel, release)
        assert one.sweep == same


def test_a_large_machine_is_swept_with_one_pool_and_with_all() -> None:
    machine = numatune.read_machine(synthetic="pack:16 [numa(memory=64GB)] core:4 pu:1")
    [pools] = make_plan(machine, asked(), [("kt-kernel", None)]).pools
    assert [one.pools for one in pools] == [1, 16]


def test_others_have_no_pools() -> None:
    machine = numatune.read_machine(synthetic="pack:2 [numa(memory=64GB)] core:12 pu:1")
    request = request_of({"runtime": "llama.cpp", "threads": 12})
    assert make_plan(machine, request, [("llama.cpp", None)]).pools == ()
    one = numatune.read_machine(synthetic="core:12 pu:1")
    assert make_plan(one, asked(), [("kt-kernel", None)]).pools == ((),)
