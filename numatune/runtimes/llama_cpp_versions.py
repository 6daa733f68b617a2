"""Versions of llama.cpp as its users write them, and what each of them can do.

A build "b4567" is the number of commits. What `--numa` does to a thread changed once, with
https://github.com/ggml-org/llama.cpp/pull/5377 (build 2161). CPU masks came with
https://github.com/ggml-org/llama.cpp/pull/8672 (August 2024), and reached the threads of OpenMP
builds with https://github.com/ggml-org/llama.cpp/pull/16164 (September 2025). The numbers of those
two builds are not known here, only some before and after them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numatune.errors import UsageError
from numatune.placement.placement import Release
from numatune.runtimes.ggml import BLOCKS, ROUND_ROBIN, SOURCE
from numatune.runtimes.versions import commit_of, parse, same_commit
from numatune.words import shown

NAME = "llama.cpp"
NEWEST = "ggml 0.25.3"

#: `--numa` came with https://github.com/ggml-org/llama.cpp/pull/1556, strategies with PR 5377.
FIRST_NUMA, FIRST_STRATEGIES = 747, 2161

#: The default became an OpenMP build with https://github.com/ggml-org/llama.cpp/pull/7606.
FIRST_OPENMP = 3077

#: Hybrid CPUs are looked at from https://github.com/ggml-org/llama.cpp/pull/6414 on.
FIRST_HYBRID = 2685

#: The last build known to lack CPU masks (6 June 2024), and the first known to have them
#: (https://github.com/janhq/jan/issues/5703, July 2025).
NO_MASKS, MASKS = 3087, 5857

#: The last build known to keep them from OpenMP's threads
#: (https://github.com/xorbitsai/xllamacpp/pull/81), and the first known not to
#: (https://github.com/docker/model-runner/pull/404).
NO_OPENMP_MASKS, OPENMP_MASKS = 6451, 7045

#: The newest build that a source names (https://github.com/ggml-org/llama.cpp/issues/28650).
NEWEST_BUILD = 10819

#: Commits that are known, with their build; None is the newest.
COMMITS: dict[str, int | None] = {"0c1e57098": None, "89e0aa6fd": 10386, "e107984bc": 10788}

BUILD = re.compile(
    r"(?:(?:build|version)[ :=]*|main-)?b?([0-9]{1,6})(?: *\([0-9a-f]{7,40}\)|-[0-9a-f]{7,40})?"
)
GGML = re.compile(r"ggml[ =_-]*v?([0-9][0-9a-z.+-]{0,40})")


class Era(NamedTuple):
    """Builds that behave alike."""

    behaviour: str
    range: str
    stands_for: str
    source: str


ERAS = (
    Era(
        BLOCKS,
        f"b{FIRST_NUMA} - b{FIRST_STRATEGIES - 1}",
        f"b{FIRST_STRATEGIES - 1}",
        "https://github.com/ikawrakow/ik_llama.cpp/blob"
        "/384e6bbbe719066d3a7e3baedf963ce53d6c85b6/ggml.c",
    ),
    Era(ROUND_ROBIN, f"b{FIRST_STRATEGIES} - {NEWEST}", NEWEST, SOURCE),
)


def releases() -> tuple[Release, ...]:
    """Return one release for each behaviour, oldest first."""
    return tuple(release(era.stands_for, None) for era in ERAS)


def release(version: str | None, commit: str | None) -> Release:
    """Return how a version or a commit behaves, None being the newest. A version decides.

    Raises UsageError where neither is known.
    """
    asked, build = NEWEST, None
    if version is not None:
        asked, build = by_version(version)
    elif commit is not None:
        asked, build = by_commit(commit)
    if build is not None and not FIRST_NUMA <= build <= NEWEST_BUILD:
        raise unknown(asked)
    era = ERAS[0] if build is not None and build < FIRST_STRATEGIES else ERAS[1]
    return Release(NAME, asked, era.range, era.behaviour, None, era.source)


def by_version(version: str) -> tuple[str, int | None]:
    """Return the usual spelling of a version and its build, None for the newest."""
    text = version.strip().lower()
    match = BUILD.fullmatch(text)
    if match is not None:
        return f"b{int(match[1])}", int(match[1])
    if commit_of(text):
        return by_commit(text)
    ggml = GGML.fullmatch(text)
    number = parse(ggml[1] if ggml else text)
    if number is None:
        raise unknown(text)
    known = ((0, 9, 5), (0, 25)) if ggml else ((0, 2), (0, 4))
    if number.release < known[0] or number.series > known[1]:
        raise unknown(text)
    return f"ggml {ggml[1]}" if ggml else text.removeprefix("v"), None


def by_commit(commit: str) -> tuple[str, int | None]:
    """Return a commit as it is shown, and its build."""
    prefix = commit_of(commit)
    for known, build in COMMITS.items():
        if prefix is not None and same_commit(prefix, (known,)):
            return prefix, build
    raise unknown(f"commit {commit}")


def unknown(asked: str) -> UsageError:
    """Say that a version is not known, and which are."""
    return UsageError(
        f"llama.cpp {shown(asked)} is not known; known are builds b{FIRST_NUMA} - b{NEWEST_BUILD}, "
        f"llama.cpp 0.2 - 0.4, ggml 0.9.5 - 0.25 and the commits {', '.join(COMMITS)}; without a "
        f"version the newest is taken, {NEWEST}"
    )


def build_of(known: Release) -> int | None:
    """Return the build of a release, None for one that is as new as the newest."""
    return by_version(known.version)[1]


def applies_masks(known: Release, is_openmp: bool) -> bool:
    """Tell whether CPU masks act. Raises UsageError where they do not exist or it is not known."""
    build = build_of(known)
    if build is None:
        return True
    if build <= NO_MASKS:
        raise UsageError(
            f"llama.cpp {known.version} has no CPU masks (-C, -Cr), which came with pull request "
            "8672"
        )
    last, first, change = (NO_MASKS, MASKS, 8672)
    if is_openmp:
        last, first, change = (NO_OPENMP_MASKS, OPENMP_MASKS, 16164)
    if last < build < first:
        raise UsageError(
            f"whether llama.cpp {known.version} has pull request {change}, on which CPU masks "
            f"depend, is not known here; ask for a build up to b{last} or from b{first} on"
        )
    return build >= first
