"""The page of NT304, numa-fake-on-command-line."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
numa=fake=4 cuts the memory into four nodes for tests. Their distances carry
no information (often 10 everywhere), and the CPUs of a socket may appear in
each of them:

  node 0 cpus: 0-23        node distances:
  node 1 cpus: 0-23        node   0   1
                             0:  10  10
                             1:  10  10

Whatever counts nodes is misled: ktransformers built with NUMA support keeps
a copy of the weights for each, kt-kernel makes pools that share the same
cores, and numatune can't tell how many sockets there are.
""",
    look="""\
cat /proc/cmdline
dmesg | grep -i "faking node"
numactl --hardware           nodes with the same CPUs
""",
    fix="""\
Debian, Ubuntu    edit GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub
Fedora, RHEL      grubby --update-kernel=ALL --remove-args=numa=fake=4
then              reboot; numactl --hardware
""",
    harmless="""\
On a test machine on which nothing is to be fast.
""",
)
