"""The models that people run from CPU memory: the sizes of their experts, and of their files.

The old ktransformers places its workers by the sizes of a model's experts; kt-kernel refuses a
number of pools that does not divide them. Each entry names the configuration it was taken from.
"""

from __future__ import annotations

from typing import NamedTuple

from numatune.errors import UsageError
from numatune.placement.request import Model


class Shape(NamedTuple):
    """The experts of one model family.

    `names` are the beginnings of the names it goes by, in lower case with hyphens. `inner` is
    moe_intermediate_size (intermediate_size where all layers have experts), `source` a URL.
    """

    name: str
    names: tuple[str, ...]
    inner: int
    hidden: int
    experts: int
    experts_per_token: int
    source: str


HUGGING_FACE = "https://huggingface.co/"

SHAPES = (
    Shape(
        "DeepSeek-R1",
        ("deepseek-r1", "r1"),
        2048, 7168, 256, 8,
        f"{HUGGING_FACE}deepseek-ai/DeepSeek-R1/blob/main/config.json",
    ),
    Shape(
        "DeepSeek-V3",
        ("deepseek-v3", "v3"),
        2048, 7168, 256, 8,
        f"{HUGGING_FACE}deepseek-ai/DeepSeek-V3/blob/main/config.json",
    ),
    Shape(
        "DeepSeek-V2-Lite",
        ("deepseek-v2-lite", "deepseek-coder-v2-lite"),
        1408, 2048, 64, 6,
        f"{HUGGING_FACE}deepseek-ai/DeepSeek-V2-Lite/blob/main/config.json",
    ),
    Shape(
        "DeepSeek-V2",
        ("deepseek-v2", "deepseek-coder-v2"),
        1536, 5120, 160, 6,
        f"{HUGGING_FACE}deepseek-ai/DeepSeek-V2/blob/main/config.json",
    ),
    Shape(
        "Qwen2-57B-A14B",
        ("qwen2-57b-a14b",),
        2560, 3584, 64, 8,
        f"{HUGGING_FACE}Qwen/Qwen2-57B-A14B/blob/main/config.json",
    ),
    Shape(
        "Qwen3-30B-A3B",
        ("qwen3-30b-a3b",),
        768, 2048, 128, 8,
        f"{HUGGING_FACE}Qwen/Qwen3-30B-A3B/blob/main/config.json",
    ),
    Shape(
        "Mixtral-8x7B",
        ("mixtral-8x7b",),
        14336, 4096, 8, 2,
        f"{HUGGING_FACE}mistralai/Mixtral-8x7B-v0.1/blob/main/config.json",
    ),
    Shape(
        "Mixtral-8x22B",
        ("mixtral-8x22b",),
        16384, 6144, 8, 2,
        f"{HUGGING_FACE}mistralai/Mixtral-8x22B-v0.1/blob/main/config.json",
    ),
)  # fmt: skip

NAMES = tuple(shape.name for shape in SHAPES)

#: Sizes of files of DeepSeek-R1 and V3: (quantisation, bytes, bytes read for a token).
#: https://github.com/kvcache-ai/ktransformers/issues/637 and /issues/321.
FILES = (
    ("q4-k-m", 405_000_000_000, 21_000_000_000),
    ("q8-0", 713_000_000_000, 39_300_000_000),
)


def model_of(shape: Shape, name: str) -> Model:
    """Return the model of a shape under the name that the user gave it."""
    total = active = None
    if shape.experts == 256:
        plain = plainly(name)
        for quantisation, size, read in FILES:
            if quantisation in plain:
                total, active = size, read
    return Model(
        name, total, active, shape.inner, shape.hidden, shape.experts, shape.experts_per_token
    )


def known(name: str) -> Model | None:
    """Return a model by its name, with or without owner, quantisation and the like.

    >>> model = known("unsloth/DeepSeek-R1-GGUF Q4_K_M")
    >>> model.moe_intermediate_size, model.total_bytes
    (2048, 405000000000)
    >>> known("DeepSeek-R1-Distill-Qwen-32B") is None  # a dense model of another family
    True
    """
    plain = plainly(name)
    if "distill" in plain:
        return None
    for candidate in (plain, plain.partition("/")[2]):
        for shape in SHAPES:
            for begin in shape.names:
                if candidate.startswith(begin) and not candidate[len(begin) :][:1].isalnum():
                    return model_of(shape, name)
    return None


def named(name: str) -> Model:
    """Return a model by its name. Raises UsageError that lists the known ones."""
    model = known(name)
    if model is None:
        from numatune.words import shown, suggestion

        close = suggestion(name, [shape.name.lower() for shape in SHAPES])
        raise UsageError(
            f"the model {shown(name)!r} is not known{close}; known are {', '.join(NAMES)}. For "
            "another, add --moe-intermediate-size and --hidden-size of its configuration"
        )
    return model


def plainly(name: str) -> str:
    """Return a name in lower case, with hyphens for spaces and underscores."""
    return "-".join(name.strip().lower().replace("_", " ").replace("-", " ").split())[:200]


#: What is assumed where no model is given: by far the most common one in reports.
DEFAULT_MODEL = model_of(SHAPES[0], SHAPES[0].name)
