"""The page of NT114, pool-map-out-of-range."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Since the map of pools to nodes came (commit 3903c9af, first in kt-kernel
0.5.3), the number of threads already placed on a node is kept in an array
with one entry for each pool, but it is indexed by the node's id. An id that
is not below the number of pools is read, and written, beyond the end.
AddressSanitizer reports a heap overflow there. What is read decides at
which core the workers start: 0 in some runs, 32556 in others, and then no
worker finds a core.

  --kt-threadpool-count 1 --kt-numa-nodes 1      entry 1 of an array of 1
  --kt-threadpool-count 2 --kt-numa-nodes 0 2    entry 2 of an array of 2

The first is what people use for a second instance on the second socket
(issue 1938; that its slow first token comes from this is not shown).
""",
    look="""\
The log has "Core 0 inside NUMA node 1 not found" when it went wrong. When
it went well nothing shows. The masks of the threads tell:

  grep Cpus_allowed_list /proc/PID/task/*/status
""",
    fix="""\
Put the instance into a cpuset of the node and use map 0: hwloc then counts
that node as the first.

  docker run --cpuset-cpus 48-95,144-191 --cpuset-mems 1 ...
    --kt-threadpool-count 1 --kt-numa-nodes 0

Or use as many pools as the highest node id plus one.
""",
    harmless="""\
Never reliably. It depends on what lies behind the array in that run.
""",
)
