"""The instruction sets that decide which kernels a runtime can use, by the flags that show them."""

from __future__ import annotations

#: Name -> the kernel's flags, any of which shows it; best first.
INSTRUCTION_SETS = {
    "AMX": ("amx_int8", "amx_bf16", "amx_tile"),
    "AVX-512": ("avx512f",),
    "AVX512-VNNI": ("avx512_vnni",),
    "AVX512-BF16": ("avx512_bf16",),
    "AVX-VNNI": ("avx_vnni",),
    "AVX2": ("avx2",),
    "SVE": ("sve",),
    "I8MM": ("i8mm",),
    "BF16": ("bf16",),
    "DOTPROD": ("asimddp",),
}
