"""The page of NT401, memoryless-node."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
A node whose socket or die has no memory module has CPUs and 0 bytes. Its
cores work, but every byte they read comes from another node.

  2 first-generation EPYC, modules on two of eight dies: nodes 0, 2, 3, 4, 6
  and 7 have no memory; 72 of 96 CPUs read remotely

Runtimes treat such a node differently, and not all of them well:

  ktransformers, NUMA build    libnuma 2.0.16 counts only nodes with memory:
                               its CPUs idle, and if it is node 0, every
                               worker stays unbound
  kt-kernel                    pins workers to its cores; binding their memory
                               fails, so it falls where it is first touched
  llama.cpp                    gives it a share of the threads

Some Threadripper models have dies without memory by design.
""",
    look="""\
numactl --hardware | grep size
grep MemTotal /sys/devices/system/node/node*/meminfo
dmidecode -t 17 | grep -E "Locator|Size"          as root
""",
    fix="""\
modules          move or add modules until each socket and die has some; the
                 board's manual gives the order of the slots
ktransformers    numactl does not help (NT503); use kt-kernel, or a build
                 without USE_NUMA
kt-kernel        --kt-threadpool-count of the nodes with memory, if these
                 are the first ones
""",
    harmless="""\
Where the node's cores are not used, it costs nothing but the bandwidth that
its channels would have brought.
""",
)
