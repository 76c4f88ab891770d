"""Layouts of arrays on a mesh, as exercise files, JAX and PyTorch's DTensor write them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.core.expressions import ExpressionError, evaluate
from app.core.simulators.sharding import RankMesh, Resharding, ShardedLayout
from app.core.units import BYTE, show
from app.course.kinds.drawn_values import Draw

_LARGEST_COUNT = 2**53  # above, floating-point numbers skip whole ones
_DIM = re.compile(r"([A-Z])(?:/([A-Z]+))?")


def read_layout(text: str, axes: Sequence[str]) -> ShardedLayout:
    """The layout that *text* stands for: `I/X, J` is split along I over the mesh axis X.

    Raises:
        ValueError: it is not one; the message says what is expected.
    """
    found = [_DIM.fullmatch(part.strip()) for part in text.split(",")]
    if not all(found):
        raise ValueError(f"{text!r} is not a layout such as 'I/X, J'")
    pairs = [(one[1], tuple(one[2] or "")) for one in found if one]
    layout = ShardedLayout(tuple(dim for dim, _ in pairs), tuple(cut for _, cut in pairs))
    for axis in layout.axes:
        if axis not in axes:
            raise ValueError(f"{text!r}: the mesh axis {axis} does not exist, only {', '.join(axes)}")
        if layout.axes.count(axis) > 1:
            raise ValueError(f"{text!r}: the axis {axis} splits it twice")
    if len(set(layout.dims)) < len(layout.dims):
        raise ValueError(f"{text!r}: a dimension is there twice")
    return layout


def in_jax(name: str, layout: ShardedLayout) -> str:
    """The array with its layout as in JAX and the scaling book, as mathematics: A[I_X, J]."""
    dims = (f"{dim}_{{{''.join(cut)}}}" if cut else dim for dim, cut in zip(layout.dims, layout.cuts, strict=True))
    return rf"${name}[{', '.join(dims)}]$"


def placements(mesh: RankMesh, layout: ShardedLayout) -> str:
    """The placements of DTensor: one for each axis of the mesh, in order."""
    words = []
    for axis in mesh.axes:
        dim = next((at for at, cut in enumerate(layout.cuts) if axis in cut), None)
        words.append("Replicate()" if dim is None else f"Shard({dim})")
    return f"[{', '.join(words)}]"


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """An array: its layout as in JAX and in DTensor, and the bytes of all of it."""

    title: str
    dtensor: str
    size: str


def layout_rows(task: Resharding, sizes: Mapping[str, float]) -> tuple[ArrayLayout, ...]:
    """A row for each array that the ranks have, and one for the target."""
    return tuple(
        ArrayLayout(
            title=f"{'target: ' if at == len(task.have) else ''}{in_jax(name, layout)}",
            dtensor=placements(task.mesh, layout),
            size=show(sizes[name], BYTE),
        )
        for at, (name, layout) in enumerate((*task.have, task.want))
    )


def task_of(mesh: RankMesh, have: Mapping[str, str], want: Mapping[str, str]) -> Resharding:
    """The arrays on *mesh*, and the target.

    Raises:
        ValueError: a layout cannot be read.
    """
    name, text = next(iter(want.items()))
    layouts = tuple((name, read_layout(text, mesh.axes)) for name, text in have.items())
    return Resharding(mesh, layouts, (name, read_layout(text, mesh.axes)))


def refuse_unrelated(
    axes: Sequence[str], have: Mapping[str, str], want: Mapping[str, str], sizes: Collection[str]
) -> None:
    """Refuse a target that is neither one of the others nor their product.

    Raises:
        ValueError: it is neither, a layout cannot be read, or a dimension has no size.
    """
    task = task_of(RankMesh(tuple(axes), (1,) * len(axes)), have, want)
    name, layout = task.want
    dims = [one.dims for _, one in task.have]
    if name in have:
        possible = dims == [layout.dims]
    else:
        possible = [len(one) for one in dims] == [2, 2] and (
            dims[0][1] == dims[1][0] and layout.dims == (dims[0][0], dims[1][1])
        )
    if not possible:
        raise ValueError(f"{name} is neither the one array nor the product of two matrices")
    if missing := {dim for one in (*dims, layout.dims) for dim in one} - {*sizes}:
        raise ValueError(f"sizes lacks {', '.join(sorted(missing))}")


def whole_count(where: str, value: str | int, drawn: Draw) -> int:
    """A whole number that an exercise file gives as an expression.

    Raises:
        ExpressionError: it is not one, not positive, or too large to be exact.
    """
    found = evaluate(str(value), drawn.names).value
    if found < 1 or found != int(found):
        raise ExpressionError(f"{where} must be a whole number, not {found:g}")
    if found > _LARGEST_COUNT:
        raise ExpressionError(f"{where} must be at most {_LARGEST_COUNT:g}, not {found:g}")
    return int(found)
