"""The page of NT510, option-without-effect."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Options and variables are taken by programs that make nothing of them, and
nothing is said. The launch then differs from what it reads like.

  stated                          and yet
  OMP_PLACES, OMP_PROC_BIND       overridden in llama.cpp by --numa and -C
  OMP_NUM_THREADS                 llama.cpp asks OpenMP for the number of -t
  -C, -Cr                         overridden by --numa; not used by OpenMP
                                  builds before pull request 16164, nor by
                                  one thread of such a build
  -Cb, -Crb without -tb           prompts take over the values of generation
  --numa distribute               ids 0, 2, 4 or no node 0: nothing is found
  -C in ik_llama.cpp              it has no thread pool
  GGML_NUMA, LLAMA_NUMA           read by nothing, whatever pages say
  --kt-numa-nodes                 before kt-kernel 0.5.3
  KMP_AFFINITY with libgomp       a variable of the other library
  OMP_PLACES=core                 not valid (it is cores): libgomp warns and
                                  binds nothing

USE_NUMA at run time is one more, said by NT501. What is not known here is
not named: silence about an option means nothing.
""",
    look="""\
for t in /proc/PID/task/*; do grep Cpus_allowed_list $t/status; done
OMP_DISPLAY_ENV=verbose PROGRAM      what the OpenMP library has read
""",
    fix="""\
Leave one of two options out that exclude each other, and look again:

  llama.cpp     --numa distribute alone, or -C with --cpu-strict 1 alone,
                or OMP_PLACES=cores OMP_PROC_BIND=spread alone
  prompts       -tb together with -Cb
  libgomp       OMP_PLACES=cores, OMP_PROC_BIND=spread
""",
    harmless="""\
Where the option only repeats what happens anyway, or the variable is meant
for another program of the same shell.
""",
)
