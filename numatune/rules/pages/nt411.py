"""The page of NT411, channels-unpopulated."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
Each token reads all active weights once, so decoding is as fast as memory
is read, and each memory channel brings its part:

  bytes a second = channels with a module x transfers a second x 8

  2 x EPYC 7C13, 8 of 16 channels, DDR4-2933         188 of 375 GB/s
    56 threads: 2.3 tokens/s (issue 319)
  2 x EPYC 9654, 16 of 24 channels, DDR5-4800        614 of 922 GB/s
    415 GB/s were measured (issue 828)

A second module on a channel that has one adds size and no bandwidth, and
often lowers the speed of both.
""",
    look="""\
dmidecode -t 17 | grep -E "Locator|Size"     as root; empty slots say
                                             "No Module Installed"
ls -d /sys/devices/system/edac/mc/mc*/dimm*
numatune inspect --assume dimms_populated=8 --assume memory_channels=16
""",
    fix="""\
Buy equal modules for the empty channels, for all sockets at once. No
setting of a runtime brings the missing channels back; fewer threads are
then enough, as bandwidth saturates earlier.
""",
    harmless="""\
Where the model fits into GPU memory, or prompts are long and answers short:
reading a prompt is bound by the cores.
""",
)
