"""How the options of all runtimes are spelled on a command line, without importing a runtime.

A test holds the table equal to what the runtimes' modules say.
"""

from __future__ import annotations

#: Python's spelling -> the spellings of the command line, of options that take a value.
WITH_VALUE = {
    "threadpool_count": ("--kt-threadpool-count", "--threadpool-count"),
    "numa_nodes": ("--kt-numa-nodes", "--numa-nodes"),
    "task_counts": ("--task-counts",),
    "threads_batch": ("-tb", "--threads-batch"),
    "numa": ("--numa",),
    "cpu_mask": ("-C", "--cpu-mask"),
    "cpu_range": ("-Cr", "--cpu-range"),
    "cpu_strict": ("--cpu-strict",),
    "cpu_mask_batch": ("-Cb", "--cpu-mask-batch"),
    "cpu_range_batch": ("-Crb", "--cpu-range-batch"),
    "cpu_strict_batch": ("--cpu-strict-batch",),
    "prio": ("--prio",),
    "poll": ("--poll",),
    "load_mode": ("-lm", "--load-mode"),
    "openmp_build": ("--openmp-build",),
    "tensor_parallel_size": ("--tensor-parallel-size", "--tp", "-tp", "--tp-size"),
    "pipeline_parallel_size": ("--pipeline-parallel-size", "-pp", "--pp-size"),
    "data_parallel_size": ("--data-parallel-size", "-dp", "--dp-size"),
    "kv_transfer_config": ("--kv-transfer-config",),
}

#: The same of options that are a word alone.
ALONE = {
    "mmap": ("--mmap",),
    "no_mmap": ("--no-mmap",),
    "mlock": ("--mlock",),
    "repack": ("--repack",),
    "no_repack": ("-nr", "--no-repack"),
    "run_time_repack": ("-rtr", "--run-time-repack"),
    "huge_pages": ("-thp", "--transparent-huge-pages"),
}

#: Spelling -> Python's name, and whether a value follows.
SPELLINGS = {
    spelled: (name, takes_value)
    for table, takes_value in ((WITH_VALUE, True), (ALONE, False))
    for name, spellings in table.items()
    for spelled in spellings
}
