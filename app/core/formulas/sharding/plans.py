"""Arrays split over a mesh of ranks with their target layout, plans to reach it, and the plan that sends least."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import prod
from typing import ClassVar, Self

from app.core.formulas.checks import recorded, too_large, whole
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

    *mesh* has the ranks of each axis, as in `X:4 Y:2`, and *sizes* the size of each dimension. *have* are the arrays,
    as in `A[I/X, J] B[J, K]`, where the axis X splits the dimension I, and *want* is the target. Several axes split a
    dimension in the order of their letters, the outermost first.
    """

    what: ClassVar[str] = noted("sharding task")

    mesh: str
    sizes: str
    have: str
    want: str
    element_bytes: Bytes = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
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
                form = noted("{name} must have the axis {missing}, not only {mesh!r}")
                raise value_error(form, name="mesh", missing=missing[0], mesh=self.mesh)
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
        form = noted("move {number} must be one such as 'all-gather A over X', not {value!r}{offer}")
        raise value_error(form, number=number, value=text[:60], offer=offer(text.split()[0], _KINDS))
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


@dataclass(frozen=True, slots=True)
class _Array:
    """What splits each dimension, and the axes over which partial sums must be added."""

    cuts: Cuts
    sums: frozenset[str] = frozenset()

    @property
    def axes(self) -> str:
        return "".join(axes for _, axes in self.cuts)

    def without(self, axis: str) -> "_Array":
        """This array, *axis* gathered, if that is the innermost axis of a dimension."""
        if not any(axes.endswith(axis) for _, axes in self.cuts):
            raise value_error("an array that {axis} is the last axis to split", axis=axis)
        return replace(self, cuts=tuple((dim, axes.removesuffix(axis)) for dim, axes in self.cuts))

    def split(self, axis: str, dim: str, task: ShardingTask) -> "_Array":
        """This array, *dim* split by *axis* as well."""
        if axis in self.axes or axis in self.sums:
            raise value_error("an array that {axis} does not split, without sums over it", axis=axis)
        cuts = dict(self.cuts)
        if dim not in cuts:
            raise value_error("an array with a dimension {dim}", dim=dim)
        cuts[dim] += axis
        if task.dims[dim] % prod(task.ranks[one] for one in cuts[dim]):
            raise value_error("a dimension {dim} that {cuts} splits evenly", dim=dim, cuts=cuts[dim])
        return replace(self, cuts=tuple(cuts.items()))

    def summed(self, axis: str) -> "_Array":
        """This array, its partial sums over *axis* added."""
        if axis not in self.sums:
            raise value_error("partial sums over {axis}", axis=axis)
        return replace(self, sums=self.sums - {axis})


_State = tuple[tuple[str, _Array], ...]


def plan_bytes(task: ShardingTask, plan: ShardingPlan) -> Bytes:
    """Bytes that each rank sends to make the moves of a plan.

    Along an axis of n ranks, an all-gather sends n - 1 times the block that a rank holds before the move; a
    reduce-scatter or an all-to-all (n - 1) / n of it, and an all-reduce twice that. A plan sends the total of its
    moves. In the task "summed dimension", 4 ranks hold partial sums (S) of 4096 rows and 8192 columns, and add them:

        S = 4096 * 8192 * element_bytes
        V = 2 * S * (4 - 1) / 4

    Convention:
        With ring collectives. A product over a split dimension leaves partial sums, as large as the
        block of their total. Each rank's block is in one piece, as in JAX: of several axes that
        split a dimension, only the innermost can be gathered, and a new one goes inside.

    Args:
        task: its name, or such as mesh=X:4 sizes=I:4096 J:8192 have=A[I/X, J] want=A[I, J].
        plan: moves such as all-gather A over X, with ; between them; must reach the target layout.

    Raises:
        ValueError: an argument is outside its domain, or a move cannot be made.

    Source:
        Austin et al., How to Scale Your Model, 2025, section "Sharded Matrices and How to
        Multiply Them"; Xu et al., GSPMD, arXiv:2105.04663, section 3.
    """
    task, plan = (recorded("task", task, ShardingTask), recorded("plan", plan, ShardingPlan))
    state, total = _start(task), Fraction(0)
    for number, step in enumerate(plan.steps, 1):
        try:
            state, sent = _made(task, state, step)
        except ValueError as error:
            form = noted("{name} must find {lacking} for {step!r} as move {number}")
            raise value_error(form, name="plan", lacking=error, step=_step_text(step), number=number) from None
        total += sent
    if dict(state).get(task.target[0]) != _Array(task.target[1]):
        raise value_error(
            "{name} must reach {want}, not end with {state}", name="plan", want=task.want, state=_shown_state(state)
        )
    return float(total)


def cheapest_plan(task: ShardingTask) -> tuple[str, ...]:
    """Moves that reach the target layout with the fewest bytes sent by each rank.

    Every layout that moves can reach is visited in the order of the bytes sent to reach it (Dijkstra's algorithm); the
    bytes are those of plan_bytes. In FSDP over 4 ranks, with as many columns of the weights as rows, gathering them (W)
    sends less than an all-to-all of the tokens and a reduce-scatter of the result (T) from 6554 tokens on:

        W = 8192 * 8192 * element_bytes * (4 - 1) / 4
        T = (4096 * 8192 / 4 + 4096 * 8192) * element_bytes * (4 - 1) / 4

    Convention:
        Of plans with the same bytes, one with the fewest moves. Each rank's block is in one piece
        all the way, as in plan_bytes; exchanging scattered pieces can send less on a mesh of two
        axes or more.

    Args:
        task: its name, or such as mesh=X:4 sizes=I:4096 J:8192 have=A[I/X, J] want=A[I, J].

    Raises:
        ValueError: *task* is outside its domain, or no plan reaches the layout.

    Source:
        Zheng et al., Alpa, arXiv:2201.12023, section 4 (the cost of resharding); Dijkstra,
        Numerische Mathematik 1, 1959.
    """
    task = recorded("task", task, ShardingTask)
    goal, turn = (task.target[0], _Array(task.target[1])), count()
    heap: list[tuple[Fraction, int, int, _State, tuple[Step, ...]]] = [(Fraction(0), 0, next(turn), _start(task), ())]
    seen: set[_State] = set()
    while heap:
        sent, length, _, state, moves = heappop(heap)
        if goal in state:
            return tuple(map(_step_text, moves))
        if state in seen:
            continue
        seen.add(state)
        for step, new, more in _next(task, state):
            if new not in seen:
                heappush(heap, (sent + more, length + 1, next(turn), new, (*moves, step)))
    raise value_error("{name} must be one that moves can reach, not {value!r}", name="task", value=task.text)


def _start(task: ShardingTask) -> _State:
    return tuple((name, _Array(cuts)) for name, cuts in task.arrays.items())


def _next(task: ShardingTask, state: _State) -> Iterator[tuple[Step, _State, Fraction]]:
    """Every move that can be made, with what there is after it and what each rank sends."""
    for step in _menu(task, state):
        try:
            new, sent = _made(task, state, step)
        except ValueError:
            continue
        yield step, new, sent


def _menu(task: ShardingTask, state: _State) -> Iterator[Step]:
    if len(state) > 1:
        yield ("multiply", "", "", "")
    for name, array in state:
        for axis in task.ranks:
            yield ("all-gather", name, axis, "")
            yield ("all-reduce", name, axis, "")
            for dim, _ in array.cuts:
                for kind in ("reduce-scatter", "all-to-all", "keep own part of"):
                    yield (kind, name, axis, dim)


def _made(task: ShardingTask, state: _State, step: Step) -> tuple[_State, Fraction]:
    """What there is after a move, and the bytes that each rank sends for it.

    Raises:
        ValueError: it cannot be made; the message says what it takes.
    """
    kind, name, axis, dim = step
    if kind == "multiply":
        return _product(task, state), Fraction(0)
    arrays = dict(state)
    if name not in arrays:
        raise value_error("an array {name}", name=name)
    if axis not in task.ranks:
        raise value_error("an axis {axis} in the mesh", axis=axis)
    array = arrays[name]
    arrays[name] = _after(task, array, kind, axis, dim)
    ranks = task.ranks[axis]
    shares = {
        "all-gather": Fraction(ranks - 1),
        "all-reduce": 2 * Fraction(ranks - 1, ranks),
        "keep own part of": Fraction(0),
    }
    cells = prod(task.dims[dim] for dim, _ in array.cuts)
    own = Fraction(task.element_bytes) * cells / prod(task.ranks[axis] for axis in array.axes)  # of the block of a rank
    return tuple(arrays.items()), own * shares.get(kind, Fraction(ranks - 1, ranks))


def _after(task: ShardingTask, array: _Array, kind: str, axis: str, dim: str) -> _Array:
    if kind == "all-gather":
        return array.without(axis)
    if kind == "all-reduce":
        return array.summed(axis)
    if kind == "reduce-scatter":
        return array.summed(axis).split(axis, dim, task)
    if kind == "keep own part of":
        return array.split(axis, dim, task)
    if dict(array.cuts).get(dim, "").endswith(axis):
        raise value_error("a dimension {dim} that {axis} does not split yet", dim=dim, axis=axis)
    return array.without(axis).split(axis, dim, task)


def _product(task: ShardingTask, state: _State) -> _State:
    """The product of the two matrices: where its summed dimension is split, partial sums.

    Raises:
        ValueError: there are no two, or their blocks do not go together.
    """
    if len(state) == 1:
        raise value_error("two matrices that are not multiplied yet")
    (_, left), (_, right) = state
    (rows, row_axes), (_, one) = left.cuts
    (_, other), (columns, column_axes) = right.cuts
    inner = max(one, other, key=len)
    if not (inner.startswith(one) and inner.startswith(other)):
        raise value_error("matrices whose summed dimension is split alike")
    used = row_axes + inner + column_axes
    if len(set(used)) < len(used):
        raise value_error("matrices that an axis splits along one dimension only")
    cuts = ((rows, row_axes), (columns, column_axes))
    return ((task.target[0], _Array(cuts, frozenset(inner))),)


def _step_text(step: Step) -> str:
    kind, name, axis, dim = step
    words = [kind, name, *(["over", axis] if axis else []), *(["along", dim] if dim else [])]
    return " ".join(filter(None, words))


def _shown_state(state: _State) -> str:
    """The arrays with their layouts, as a task has them."""
    shown = []
    for name, array in state:
        cuts = ", ".join(f"{dim}/{axes}" if axes else dim for dim, axes in array.cuts)
        sums = f" with partial sums over {', '.join(sorted(array.sums))}" if array.sums else ""
        shown.append(f"{name}[{cuts}]{sums}")
    return " ".join(shown)


__all__ = ["cheapest_plan", "plan_bytes"]
