"""What a plan of collectives sends, and the plan that sends least, by the rules of layouts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import prod

from app.core.formulas.checks import recorded
from app.core.formulas.presets.shardings import Cuts, ShardingPlan, ShardingTask, Step
from app.core.translation import value_error
from app.core.units import Bytes


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

    Along an axis of n ranks, an all-gather sends n - 1 times the block that a rank holds before the
    move; a reduce-scatter or an all-to-all (n - 1) / n of it, and an all-reduce twice that. A plan
    sends the total of its moves. In the task "summed dimension", 4 ranks hold partial sums (S) of
    4096 rows and 8192 columns, and add them:

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
            raise value_error(
                "{name} must find {lacking} for {step!r} as move {number}",
                name="plan",
                lacking=error,
                step=_step_text(step),
                number=number,
            ) from None
        total += sent
    if dict(state).get(task.target[0]) != _Array(task.target[1]):
        raise value_error(
            "{name} must reach {want}, not end with {state}", name="plan", want=task.want, state=_shown_plans(state)
        )
    return float(total)


def cheapest_plan(task: ShardingTask) -> tuple[str, ...]:
    """Moves that reach the target layout with the fewest bytes sent by each rank.

    Every layout that moves can reach is visited in the order of the bytes sent to reach it
    (Dijkstra's algorithm); the bytes are those of plan_bytes. In FSDP over 4 ranks, with as many
    columns of the weights as rows, gathering them (W) sends less than an all-to-all of the tokens
    and a reduce-scatter of the result (T) from 6554 tokens on:

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
    return tuple(arrays.items()), _own(task, array) * shares.get(kind, Fraction(ranks - 1, ranks))


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


def _own(task: ShardingTask, array: _Array) -> Fraction:
    """Bytes of the block that a rank holds."""
    cells = prod(task.dims[dim] for dim, _ in array.cuts)
    return Fraction(task.element_bytes) * cells / prod(task.ranks[axis] for axis in array.axes)


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


def _shown_plans(state: _State) -> str:
    """The arrays with their layouts, as a task has them."""
    return " ".join(f"{name}[{_layout(array.cuts)}]{_sums(array)}" for name, array in state)


def _layout(cuts: Cuts) -> str:
    return ", ".join(f"{dim}/{axes}" if axes else dim for dim, axes in cuts)


def _sums(array: _Array) -> str:
    return f" with partial sums over {', '.join(sorted(array.sums))}" if array.sums else ""


__all__ = ["cheapest_plan", "plan_bytes"]
