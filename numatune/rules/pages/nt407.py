"""The page of NT407, no-numa-information."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
There is no /sys/devices/system/node/node0. The kernel was built without
NUMA support, or a sandbox hides the folder: gVisor has none, Docker Desktop
and WSL kernels up to about 2021 have none. On a machine with one socket
nothing is lost by that, but libnuma then believes that there are 0 nodes,
and a program that allocates a mask for them is ended by the library itself:

  kt-kernel on a Ryzen 9 9950X3D with such a kernel (issue 1754)
    request to allocate mask for invalid number
    exit status 1

The same happens with ktransformers built with NUMA support. On a server
with several sockets it also means that nothing can be placed.
""",
    look="""\
ls /sys/devices/system/node
numactl --hardware                   "No NUMA available on this system"
grep CONFIG_NUMA= /boot/config-$(uname -r)
""",
    fix="""\
kt-kernel        a kernel with CONFIG_NUMA=y; one node is enough
ktransformers    the same, or a build without USE_NUMA
containers       run it under runc instead of gVisor
WSL              wsl --update
llama.cpp        nothing to do on one socket
""",
    harmless="""\
For runtimes that do not use libnuma, on a machine with one socket.
""",
)
