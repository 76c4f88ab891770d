"""`wallclock search`: the best layouts of a model on a cluster."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from time import monotonic
from typing import TypeVar

from app.commands.files import record_text
from app.core.errors import InputError
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares, Stack
from app.core.searching import LayoutCandidate, SearchResult, Space, find_layouts, fixed_fields
from app.core.units import BYTE, SECOND, figures, show

G = TypeVar("G")
R = TypeVar("R")
MOST = 1000  # layouts of a list
_SEQUENCE = 8192  # tokens, where the model has no learned positions
_SOON, _AGAIN = 1.0, 0.2  # seconds until progress is shown, and between two lines of it
_SHOWN = 8  # of the front on a terminal
_COLUMNS: Mapping[str, Callable[[LayoutCandidate], str]] = {
    "step": lambda one: show(one.step_time, SECOND),
    "MFU": lambda one: f"{figures(100 * one.mfu, 3)} %",
    "memory": lambda one: show(one.memory, BYTE, 3),
    "tensor": lambda one: str(one.layout.tensor),
    "pipeline": lambda one: str(one.layout.pipeline),
    "virtual": lambda one: str(one.layout.virtual),
    "context": lambda one: str(one.layout.context),
    "data": lambda one: str(one.layout.data),
    "expert": lambda one: str(one.layout.expert),
    "micro-batch": lambda one: str(one.layout.micro_batch),
    "recompute": lambda one: one.layout.recompute,
    "SP": lambda one: "yes" if one.layout.sequence_parallel else "no",
    "ZeRO": lambda one: str(one.layout.zero_stage),
    "limited by": lambda one: limits_text(one.limits),
}


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock search`."""
    parser.add_argument("--model", required=True, help='such as 405B, "Llama-3.1-8B layers=40", or a config.json')
    parser.add_argument("--cluster", required=True, help='such as "DGX-H100 gpus=1024"')
    parser.add_argument("--batch", type=int, required=True, help="sequences per step")
    parser.add_argument(
        "--sequence", type=int, default=0, help="tokens per sequence (default: the model's learned positions, or 8192)"
    )
    parser.add_argument("--top", type=int, default=20, help="how many to list (default: 20)")
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a field of the layout that is not varied, such as tensor=8; may be repeated",
    )
    parser.add_argument("--shares", default="", help='what kernels and links reach, such as "product=0.6"')
    parser.add_argument("--recipe", default="", help="bytes of each kind of number, such as Megatron or FSDP2")
    parser.add_argument("--stack", default="", help="the program that trains, such as 'FSDP2 compiled=yes'")
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def run(arguments: Namespace) -> int:
    """Print the best layouts; 1 if none fits."""
    if not 1 <= arguments.top <= MOST:
        raise InputError(f"--top must be from 1 to {MOST}, not {arguments.top}")
    model = _read_search("model", ModelShape.read, record_text(arguments.model))
    space = Space(
        model=model,
        cluster=_read_search("cluster", Cluster.read, arguments.cluster),
        batch=arguments.batch,
        sequence=arguments.sequence or model.positions or _SEQUENCE,
        fixed=_read_search("fix", fixed_fields, arguments.fix),
    )
    found = find_layouts(
        space,
        shares=_read_search("shares", Shares.read, arguments.shares) if arguments.shares else GIVEN,
        recipe=_read_search("recipe", Recipe.read, arguments.recipe) if arguments.recipe else None,
        stack=_read_search("stack", Stack.read, arguments.stack) if arguments.stack else None,
        top=arguments.top,
        progress=_Progress() if sys.stderr.isatty() else None,
    )
    lines = [json.dumps(_search_json(found))] if arguments.json else _search_lines(space, found)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0 if found.fit else 1


def _read_search(option: str, read: Callable[[G], R], given: G) -> R:
    try:
        return read(given)
    except ValueError as error:
        raise InputError(f"--{option}: {error}") from None


class _Progress:
    """How far a search is, on one line, if it takes long."""

    def __init__(self) -> None:
        self._next = monotonic() + _SOON

    def __call__(self, seen: int, size: int) -> None:
        """*seen* of *size* layouts have been looked at."""
        now = monotonic()
        if now >= self._next or (seen == size and self._next > now + _AGAIN):
            self._next = now + _AGAIN
            sys.stderr.write(f"\r{seen:,} of {size:,} layouts ({100 * seen // size} %) ")
            sys.stderr.flush()


def limits_text(limits: Mapping[str, float]) -> str:
    """What a step spends its time on, in a few words: the largest part, and the next."""
    return ", ".join(f"{name} {figures(100 * share, 2)} %" for name, share in list(limits.items())[:2])


def _search_json(found: SearchResult) -> dict[str, object]:
    """The search as JSON, in base units."""
    return {
        "layouts": found.layouts,
        "seconds": found.seconds,
        "fit": found.fit,
        "rejected": dict(found.rejected),
        "top": [_plain_layout(one) for one in found.top],
        "front": [_plain_layout(one) for one in found.front],
    }


def _plain_layout(one: LayoutCandidate) -> dict[str, object]:
    names = (field.name for field in fields(Layout) if field.name not in ("name", "source"))
    return {
        "layout": {name: getattr(one.layout, name) for name in names},
        "step_time": one.step_time,
        "memory": one.memory,
        "mfu": one.mfu,
        "limits": dict(one.limits),
    }


def _search_lines(space: Space, found: SearchResult) -> Iterator[str]:
    yield (
        f"{space.model.name} on {space.cluster.gpus:,} {space.cluster.gpu.name}:"
        f" {space.batch:,} sequences of {space.sequence:,} tokens per step"
    )
    yield f"{found.layouts:,} layouts in {show(found.seconds, SECOND)}, {found.fit:,} of them fit"
    for rule, count in found.rejected.items():
        yield f"{count:>14,} rejected: {rule}"
    yield ""
    if found.least:
        room = show(space.cluster.gpu.memory, BYTE)
        yield f"None fits in {room}. This one needs the least memory:"
        yield from _layout_table([found.least])
        return
    yield "Fastest"
    yield from _layout_table(found.top)
    if len(found.front) > 1:
        yield ""
        yield "Less memory for more time"
        stride = -(-len(found.front) // _SHOWN)
        yield from _layout_table(found.front[::-1][::stride])


def _layout_table(some: Sequence[LayoutCandidate]) -> Iterator[str]:
    rows = [tuple(_COLUMNS), *(tuple(of(one) for of in _COLUMNS.values()) for one in some)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join((*cells, row[-1]))
