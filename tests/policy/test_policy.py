import json
import time
from pathlib import Path

import pytest

from numatune.errors import UsageError
from numatune.main import main
from numatune.policy import Policy, load

NUMACTL = str(Path(__file__).parent.parent.parent / "fixtures/machines/pr685-2x24/numactl.txt")
LAUNCH = ("check", "--from", NUMACTL, "--runtime", "ktransformers==0.2.1", "--cpu-infer", "42")


def written(folder: Path, text: str) -> str:
    path = folder / "policy.yaml"
    path.write_text(text)
    return str(path)


def test_a_policy_names_the_gate_and_what_to_ignore(tmp_path: Path) -> None:
    path = written(
        tmp_path, "fail_on: warning\nignore:\n  node-oversubscribed: a known\n    case\n"
    )
    assert load(path) == Policy(path, "warning", (("NT101", "a known case"),))
    assert load(written(tmp_path, "# nothing yet\n")).fail_on == "critical"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "keys fail_on and ignore"),
        ("colour: red", "keys fail_on and ignore"),
        ("fail_on: never", "'never' is not a severity"),
        ("fail_on: [critical]", "is not a severity"),
        ("ignore: NT101", "map rules to reasons"),
        ("ignore: {NT101: }", "reason for ignoring NT101"),
        ("ignore: {NT999: why}", "NT999"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: [", "not YAML in line"),
        ("a: !!python/object/apply:os.system [id]", "not YAML"),
        ("[" * 90, "nested more than"),
        ("#" * (1 << 19), "larger than"),
    ],
)
def test_what_is_no_policy_is_a_usage_error(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load(written(tmp_path, text))


def test_a_missing_policy_is_a_usage_error(tmp_path: Path) -> None:
    for path in (str(tmp_path / "missing"), str(tmp_path), "a\0b"):
        with pytest.raises(UsageError, match="could not be read"):
            load(path)


def test_what_is_ignored_is_skipped_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "ignore: {NT101: measured and fine}\n")
    assert main([*LAUNCH]) == 1
    capsys.readouterr()
    assert main([*LAUNCH, "--policy", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["policy"]["ignore"] == {"NT101": "measured and fine"}
    assert "NT101" not in {f["rule"] for f in document["findings"]}
    assert "ignored by the policy: measured and fine" in {s["reason"] for s in document["skipped"]}
    assert main([*LAUNCH, "--policy", path, "--fail-on", "warning"]) == 1
    assert main([*LAUNCH, "--policy", str(tmp_path / "missing")]) == 2


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{" * 4000, "more than 100 brackets"),
        ("[" * 60_000, "more than 100 brackets"),
        ("ignore: " + "{a: " * 200, "more than 100 brackets"),
        ("\n".join(" " * i + "a:" for i in range(300)), "nested more than 8 levels"),
        ("- " * 3000, "nested more than 8 levels"),
        ("? " * 3000, "nested more than 8 levels|not YAML"),
        ("a: 1\n" * 20_000, "larger than 64 KiB"),
    ],
)
def test_deep_yaml_is_refused_at_once(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(UsageError, match=words):
        load(str(path))
    assert time.process_time() - start < 1
