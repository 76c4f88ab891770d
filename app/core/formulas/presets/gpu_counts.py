"""Numbers of GPUs as people write them: 8 H100, 8xH100, 2 nodes of 8 H200, H100 x 8."""

import re
from typing import NamedTuple

_TIMES = r"\s*[x×*]\s*"
_BEFORE = re.compile(
    rf"(?:(?P<nodes>\d{{1,6}})(?:{_TIMES}|\s+nodes?\s+(?:of|with)\s+))?(?P<count>\d{{1,7}})"
    rf"(?:{_TIMES}|\s+)(?P<gpu>[a-z][\w .-]{{1,60}})",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"(?P<gpu>[a-z][\w .-]{{1,60}}?)(?:{_TIMES}|:)(?P<count>\d{{1,7}})", re.IGNORECASE)
_AROUND = re.compile(r"^(?:(?:nvidia|amd|intel|google|aws|instinct)\s+)+|\s+gpus?$", re.IGNORECASE)


class GpuCount(NamedTuple):
    """A number of *gpus*, and the *gpu* by name."""

    gpus: int
    gpu: str


def gpu_count(text: str) -> GpuCount | None:
    """What *text* counts; None if it does not count GPUs.

    >>> gpu_count("2 x 8 NVIDIA H100s")
    GpuCount(gpus=16, gpu='H100')
    """
    found = _BEFORE.fullmatch(text.strip()) or _AFTER.fullmatch(text.strip())
    if found is None:
        return None
    parts = found.groupdict()
    name = re.sub(r"(?<=\d)s$|(?<=[xX])s$", "", _AROUND.sub("", parts["gpu"].strip()))
    return GpuCount(int(parts.get("nodes") or 1) * int(parts["count"]), name)
