"""The page of NT115, idle-workers-spin."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
The task queue thread of kt-kernel before 0.5.3 polls without a pause while
nothing is queued: one core at 100 % per process, day and night. It sleeps
since commit 7a02daa6 (pull request 1899), and workers wait on a condition
variable since bdf4bb76 (pull request 1902); both are first in 0.5.3.

Workers of ktransformers up to 0.3 spin for 50 ms after a job and then look
once every millisecond.
""",
    look="""\
top -H -p PID          a thread near 100 % while no request runs
""",
    fix="""\
kt-kernel    upgrade to 0.5.3 or later
""",
    harmless="""\
It costs power and some turbo headroom of the other cores. Decoding itself
is not slower for it.
""",
)
