"""A start must stay quick. The benchmark measures it; this fails only where it is lost by far."""

import compileall
import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_no_command_takes_twice_what_it_may() -> None:
    spec = importlib.util.spec_from_file_location("startup", ROOT / "benchmarks/startup.py")
    assert spec is not None
    assert spec.loader is not None
    startup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(startup)
    compileall.compile_dir(str(ROOT / "numatune"), quiet=2)
    times = startup.measure(4)
    for name, (_, allowed) in startup.COMMANDS.items():
        assert min(times[name]) < 2 * allowed * min(times["base"]), name
