"""Arrays split over a mesh of ranks with their target layout, and plans to reach it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, Self

from app.core.formulas.checks import positive, too_large, whole
from app.core.formulas.records import Record
from app.core.translation import noted, offer, value_error
from app.core.units import Bytes

_MOST_AXES = 3
_SIZE = re.compile(r"([A-Z]) ?: ?([0-9][0-9,_]{0,40})")
_ARRAY = re.compile(r"([A-Z]) ?\[([^\[\]]*)\]")
_DIM = re.compile(r"([A-Z])(?:/([A-Z]+))?")
_MOVE = re.compile(
    r"(?P<alone>multiply)"
    r"|(?P<whole>all-gather|all-reduce) (?P<array>[A-Z]) over (?P<axis>[A-Z])"
    r"|(?P<along>reduce-scatter|all-to-all|keep own part of) (?P<split>[A-Z]) over (?P<over>[A-Z])"
    r" along (?P<dim>[A-Z])",
    re.IGNORECASE,
)
_KINDS = ("multiply", "all-gather", "all-reduce", "reduce-scatter", "all-to-all", "keep")
_LONGEST = 20  # moves
_MOST_DIMS = 4
Cuts = tuple[tuple[str, str], ...]  # each dimension with the axes that split it, outermost first
Step = tuple[str, str, str, str]  # a move: its kind, the array, the axis, and the dimension


@dataclass(frozen=True, kw_only=True)
class ShardingTask(Record):
    """Arrays over a mesh, and the target layout of one of them or of their product.

    *mesh* has the ranks of each axis, as in `X:4 Y:2`, and *sizes* the size of each dimension.
    *have* are the arrays, as in `A[I/X, J] B[J, K]`, where the axis X splits the dimension I, and
    *want* is the target. Several axes split a dimension in the order of their letters, the
    outermost first.
    """

    what: ClassVar[str] = noted("sharding task")

    mesh: str
    sizes: str
    have: str
    want: str
    element_bytes: Bytes = 2.0

    def __post_init__(self) -> None:
        positive("element_bytes", self.element_bytes)
        if not 0 < len(self.ranks) <= _MOST_AXES:
            raise value_error(
                "{name} must have 1 to {most} axes, not {value!r}", name="mesh", most=_MOST_AXES, value=self.mesh
            )
        arrays, target = self.arrays, _arrays("want", self.want)
        if len(target) != 1:
            raise value_error("{name} must be one array, not {value!r}", name="want", value=self.want)
        for field, found in (("have", arrays), ("want", target)):
            for cuts in found.values():
                self._refuse_cuts(field, cuts)
        self._refuse_target(arrays, *target.items())

    def _refuse_cuts(self, field: str, cuts: Cuts) -> None:
        axes = "".join(axes for _, axes in cuts)
        for dim, own in cuts:
            if dim not in self.dims:
                raise value_error(
                    "{name} must have the dimension {dim}, not only {sizes!r}", name="sizes", dim=dim, sizes=self.sizes
                )
            if missing := [axis for axis in own if axis not in self.ranks]:
                raise value_error(
                    "{name} must have the axis {missing}, not only {mesh!r}",
                    name="mesh",
                    missing=missing[0],
                    mesh=self.mesh,
                )
            if self.dims[dim] % prod(self.ranks[axis] for axis in own):
                raise value_error(
                    "{name} must let {axes} split {dim} evenly, not {value} over {ranks}",
                    name="sizes",
                    axes=own,
                    dim=dim,
                    value=f"{self.dims[dim]:,}",
                    ranks=f"{prod(self.ranks[axis] for axis in own):,}",
                )
        if len(set(axes)) < len(axes):
            raise value_error("{name} must use an axis once per array, not {value!r}", name=field, value=axes)

    def _refuse_target(self, arrays: Mapping[str, Cuts], target: tuple[str, Cuts]) -> None:
        name, dims = target[0], [dim for dim, _ in target[1]]
        had = [[dim for dim, _ in cuts] for cuts in arrays.values()]
        if name in arrays:
            possible = had == [dims]
        else:
            possible = [len(one) for one in had] == [2, 2] and (
                had[0][1] == had[1][0] and dims == [had[0][0], had[1][1]]
            )
        if not possible:
            raise value_error(
                "{name} must be the one array or the product of two matrices, such as C[I, K]"
                " of A[I, J] B[J, K], not {value!r}",
                name="want",
                value=self.want,
            )

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The ranks along each axis of the mesh."""
        return _sizes("mesh", self.mesh)

    @cached_property
    def dims(self) -> Mapping[str, int]:
        """The size of each dimension."""
        return _sizes("sizes", self.sizes)

    @cached_property
    def arrays(self) -> Mapping[str, Cuts]:
        """The arrays at first, each with its dimensions and what splits them."""
        return _arrays("have", self.have)

    @cached_property
    def target(self) -> tuple[str, Cuts]:
        """The name of the target array, with its dimensions and what splits them."""
        (found,) = _arrays("want", self.want).items()
        return found


@dataclass(frozen=True, kw_only=True)
class ShardingPlan(Record):
    """Moves one after the other, with ; between them.

    A move is `multiply`, `all-gather A over X`, `all-reduce C over X`, or with the dimension that
    is split, `reduce-scatter C over X along I`, `all-to-all A over X along J` and `keep own part
    of A over X along J`.
    """

    what: ClassVar[str] = noted("sharding plan")

    moves: str

    def __post_init__(self) -> None:
        if len(self.steps) > _LONGEST:
            raise too_large("moves", len(self.steps), _LONGEST)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The moves; what one does not have is an empty text."""
        texts = [" ".join(text.split()) for text in self.moves.split(";")]
        return tuple(_step(number, text) for number, text in enumerate(texts, 1) if text)

    @classmethod
    def read(cls, text: str) -> Self:
        """The plan written as *text*: its moves, or the name of one.

        Raises:
            ValueError: a move cannot be read.
        """
        is_plain = "=" not in text and text.strip() not in cls.known()
        return cls(moves=text.strip()) if is_plain else super().read(text)


def _sizes(field: str, text: str) -> Mapping[str, int]:
    """The number after each letter of *text*.

    Raises:
        ValueError: it is not written as `X:4 Y:2`, or a letter is there twice.
    """
    found = _SIZE.findall(text)
    if not found or _SIZE.sub("", text).strip(" ,;"):
        raise value_error("{name} must be letters with numbers, such as X:4 Y:2, not {value!r}", name=field, value=text)
    if len({letter for letter, _ in found}) < len(found):
        raise value_error("{name} must have each letter once, not {value!r}", name=field, value=text)
    return {letter: whole(field, int(number.replace(",", "").replace("_", ""))) for letter, number in found}


def _arrays(field: str, text: str) -> Mapping[str, Cuts]:
    """Each array of *text* with its dimensions and the axes that split them.

    Raises:
        ValueError: it is not written as `A[I/X, J]`, or a letter is there twice.
    """
    found = _ARRAY.findall(text)
    if not found or _ARRAY.sub("", text).strip(" ,;"):
        raise value_error("{name} must be arrays such as A[I/X, J], not {value!r}", name=field, value=text)
    if len({name for name, _ in found}) < len(found):
        raise value_error("{name} must have each array once, not {value!r}", name=field, value=text)
    return {name: _cuts(field, inside) for name, inside in found}


def _cuts(field: str, text: str) -> Cuts:
    found = [_DIM.fullmatch(part.strip()) for part in text.split(",")]
    cuts = tuple((one[1], one[2] or "") for one in found if one)
    if len(cuts) < len(found) or len({dim for dim, _ in cuts}) < len(cuts):
        raise value_error("{name} must be dimensions such as I/X, J, not {value!r}", name=field, value=text)
    if len(cuts) > _MOST_DIMS:
        raise value_error(
            "{name} must have at most {most} dimensions, not {value}", name=field, most=_MOST_DIMS, value=len(cuts)
        )
    return cuts


def _step(number: int, text: str) -> Step:
    found = _MOVE.fullmatch(text)
    if not found:
        raise value_error(
            "move {number} must be one such as 'all-gather A over X', not {value!r}{offer}",
            number=number,
            value=text[:60],
            offer=offer(text.split()[0], _KINDS),
        )
    if found["alone"]:
        return ("multiply", "", "", "")
    if found["whole"]:
        return (found["whole"].lower(), found["array"].upper(), found["axis"].upper(), "")
    split = (found["split"], found["over"], found["dim"])
    return (found["along"].lower(), *(letter.upper() for letter in split))  # type: ignore[return-value]


_MLP = "I:4096 J:8192 K:8192"
SHARDING_TASKS = ShardingTask.publish(
    {
        "summed dimension": ShardingTask(mesh="X:4", sizes=_MLP, have="A[I, J/X] B[J/X, K]", want="C[I, K]"),
        "sequence parallelism": ShardingTask(mesh="X:4", sizes=_MLP, have="A[I, J/X] B[J/X, K]", want="C[I/X, K]"),
        "FSDP": ShardingTask(mesh="X:4", sizes=_MLP, have="A[I/X, J] B[J/X, K]", want="C[I/X, K]"),
        "FSDP and tensor parallelism": ShardingTask(
            mesh="X:4 Y:2", sizes=_MLP, have="A[I/X, J/Y] B[J/X, K/Y]", want="C[I/X, K/Y]"
        ),
    }
)
SHARDING_PLANS = ShardingPlan.publish(
    {
        "add partial sums": ShardingPlan(moves="multiply; all-reduce C over X"),
        "scatter partial sums": ShardingPlan(moves="multiply; reduce-scatter C over X along I"),
        "gather the weights": ShardingPlan(moves="all-gather B over X; multiply"),
    }
)
