"""The page of NT502, numa-build-unintended."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
The build system asks `if(DEFINED ENV{USE_NUMA})`. It looks whether the
variable exists and not what it says, so USE_NUMA=0 switches NUMA support on
just as USE_NUMA=1 does. A variable that was exported for an earlier build,
or a build folder that is left of it, does the same.

The build then keeps a copy of the experts on each node. Two copies of a 405
GB model do not fit 2 x 256 GB, and the process is killed while it loads.
""",
    look="""\
env | grep USE_NUMA
so=$(python -c "import cpuinfer_ext as c; print(c.__file__)")
ldd $so | grep numa
numastat -p PID                 nearly the whole model on each node
""",
    fix="""\
ktransformers    unset USE_NUMA
                 rm -rf build *.egg-info
                 bash install.sh
""",
    harmless="""\
Where the copies fit, the NUMA build is the faster one on two sockets: 12.2
against 8.7 tokens/s in ktransformers' own figures (both sockets against
one). Then keep it.
""",
)
