"""The page of NT109, no-core-left-for-main-thread."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
kt-kernel pins one worker to each physical core. Beside its workers a
forward pass needs a task queue thread that spins, Python's main thread, and
the callbacks of the GPU. None of these is pinned. With a worker on every
core each of them takes the core of a worker, and all other workers wait for
that one at the next barrier.

  2 x 24 cores, --kt-cpuinfer 48: 24 + 24 pinned, at least 49 threads spin

The upstream documents say "physical cores" in one place, "about 90 % of the
physical cores" in another and "physical cores minus the number of GPUs" in
a third. ktransformers up to 0.3 keeps one for itself: of cpu_infer N, N - 1
are workers.
""",
    look="""\
ps -Lo tid,psr,pcpu,comm -p PID --sort=-pcpu | head -60

Workers are named numa_0_t_5 (node 0, core 5) and numa_0_m_0. Look for busy
threads of other names: their psr is also that of a worker.
""",
    fix="""\
kt-kernel    --kt-cpuinfer of the cores less one on each node: 46 on
             2 x 24; with many GPUs less one for each GPU
kt run       --cpu-threads 46
""",
    harmless="""\
With SMT the other thread of each core is free for them, which softens it.
Where a measurement with one worker less on each node is no faster, leave
it.
""",
)
