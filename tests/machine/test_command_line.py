import pytest

from numatune.machine.command_line import cut, is_cut, is_telling, parameters

#: What a command line may hold that nobody else should read.
PRIVATE = (
    "BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID=5f2c-77 ip=10.1.2.3::10.1.2.1:255.255.255.0:db7:eth0"
    " hostname=db7.example.org rd.luks.uuid=luks-81 nfsroot=10.0.0.9:/home/alice"
    " systemd.setenv=KEY=hunter2 net.ifnames=0 user=alice"
)


def test_what_tells_something_is_kept_in_order_and_the_rest_is_marked() -> None:
    line = f"{PRIVATE} numa=off isolcpus=nohz,domain,1-3 intel_idle.max_cstate=1 nohz-full=1-3"
    assert (
        cut(line) == "numa=off isolcpus=nohz,domain,1-3 intel_idle.max_cstate=1 nohz-full=1-3 ..."
    )
    assert cut(PRIVATE) == "..."


def test_nothing_is_marked_where_nothing_is_left_out() -> None:
    assert cut("numa_balancing=disable nosmt") == "numa_balancing=disable nosmt"
    assert cut("") == ""
    assert not is_cut(cut("nosmt"))
    assert is_cut(cut("nosmt quiet"))


def test_cutting_twice_is_cutting_once() -> None:
    once = cut(f"nosmt {PRIVATE}")
    assert cut(once) == once == "nosmt ..."


def test_a_quoted_value_is_one_word() -> None:
    assert cut('secret="a numa=off b" nosmt') == "nosmt ..."
    assert cut('secret="never closed numa=off') == "..."


@pytest.mark.parametrize(
    "name",
    ["numa", "hugepages", "transparent_hugepage", "processor.max_cstate", "mitigations", "maxcpus"],
)
def test_names_that_tell(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize("name", ["root", "numactl", "processors", "ip", "", "numa_secret"])
def test_names_that_do_not(name: str) -> None:
    assert not is_telling(name)


def test_an_endless_value_is_left_out() -> None:
    assert cut("isolcpus=" + "1," * 5000) == "..."


def test_a_repeated_parameter_keeps_all_its_words() -> None:
    line = "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=0"
    assert parameters(line) == {
        "hugepagesz": "hugepagesz=1G hugepagesz=2M",
        "hugepages": "hugepages=4 hugepages=0",
    }
    assert parameters("nohz-full=1 nohz_full=2") == {"nohz_full": "nohz-full=1 nohz_full=2"}
