"""The page of NT501, numa-build-inactive."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
USE_NUMA is read when ktransformers is built, not when it runs. Setting it
for the server does nothing. And it may be lost in the build:

  libnuma's headers are missing      silently off: apt install libnuma-dev
  an old build folder is there       the choice of the first build is kept
  pip builds apart from the shell    the variable was not exported
  a ready-made image or wheel        built without it

Without it there is one copy of the weights, wherever it was first touched,
and no worker is tied to a node.

  2 x Xeon Silver 4310 (issue 769)
    without              5.2 tokens/s
    with                 7.4         Private memory 471 GB + 433 GB
""",
    look="""\
so=$(python -c "import cpuinfer_ext as c; print(c.__file__)")
ldd $so | grep numa
numastat -p PID

After loading, a NUMA build has nearly the whole model on each node (471 and
433 GB above); one copy spread over both (202 and 187 GB in issue 634) means
that it is not active.
""",
    fix="""\
ktransformers    apt install libnuma-dev
                 rm -rf build *.egg-info
                 export USE_NUMA=1
                 bash install.sh
kt-kernel        has no such switch: it always uses libnuma
""",
    harmless="""\
With one node it makes no difference. With two and too little memory for two
copies, the plain build is the right one (NT202).
""",
)
