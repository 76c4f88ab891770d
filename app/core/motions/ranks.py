"""What ranks hold, send and wait for: layers, tokens, caches, and time that is lost."""

from collections.abc import Iterable, Iterator, Sequence

from app.core.charts.axes import NARROW, Arrow, Color, Paper, Rect, Sheet, Words, text_width
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Paint, Place, Scene
from app.core.charts.timeline import Lane, TimeBar, Timeline
from app.core.simulators.sharding import route
from app.core.translation import translate

_TOP, _ROW, _HIGH = 34.0, 46.0, 30.0  # pixels, to the first row, from one row to the next, and of a cell
_RANKS = 4
_EVERYONE = (1 << _RANKS) - 1


def grid_scene(rows: Sequence[str], columns: Sequence[str], paper: Paper) -> Scene:
    """A table of cells, with the names of its *rows* and *columns*; pieces can be where cells are."""
    left = max(map(text_width, rows)) + 12
    step = (paper.width - left) / len(columns)
    wide = min(step - 6, 96.0)
    places = tuple(
        Place(left + column * step, _TOP + row * _ROW, wide, _HIGH)
        for row in range(len(rows))
        for column in range(len(columns))
    )
    words = [Words(0, _TOP + row * _ROW + _HIGH / 2 + 4, name) for row, name in enumerate(rows)]
    words += [
        Words(round(left + column * step + wide / 2, 2), 16, name, anchor="middle", quiet=True)
        for column, name in enumerate(columns)
    ]
    return Scene(Sheet(height=_TOP + len(rows) * _ROW, words=tuple(words)), places, places)


def _ranks() -> list[str]:
    return [translate("rank {rank:,}", rank=rank) for rank in range(_RANKS)]


def sharded_layers(layers: int = 4) -> Motion:
    """Layers that are sharded over ranks: each is gathered before it computes, and freed after."""
    frames = tuple(_gathered_frames(layers))
    names = [translate("layer {number}", number=number) for number in range(layers)]
    return Motion(
        title=translate("Weights on each rank, in one step"),
        summary=translate("a layer is whole only while it computes"),
        frames=frames,
        on=lambda paper: grid_scene(_ranks(), [str(n) for n in range(layers)] if paper is NARROW else names, paper),
        ranks=_RANKS,
        still=1,
    )


def _gathered_frames(layers: int) -> Iterator[MotionFrame]:
    def held(whole: int | None = None) -> tuple[Paint, ...]:
        return tuple(_EVERYONE if layer == whole else 1 << rank for rank in range(_RANKS) for layer in range(layers))

    yield MotionFrame(translate("Each rank keeps a shard of every layer: its own color."), held())
    for layer in range(layers):
        yield MotionFrame(translate("Forward: layer {layer} is all-gathered, and computes.", layer=layer), held(layer))
    for layer in reversed(range(layers)):
        says = translate("Backward: layer {layer} is gathered again; its gradients are reduce-scattered.", layer=layer)
        yield MotionFrame(says, held(layer))
    yield MotionFrame(translate("Freed: each rank updates its own shard of every layer."), held())


def partial_sums() -> Motion:
    """An MLP over ranks: columns give parts of a result, rows give partial sums of all of it."""
    says = (
        translate("Every rank has the whole input."),
        translate("Columns of the first matrix: each rank computes a part of its own, and nothing is sent."),
        translate("Rows of the second: each rank has a partial sum of the whole result, of one color."),
        translate("The all-reduce adds them: every rank has every color."),
    )
    columns = (translate("input"), translate("A: columns"), translate("B: rows"), translate("sum"))
    frames = []
    for step, text in enumerate(says):
        cells: list[Paint] = []
        for rank in range(_RANKS):
            parts: tuple[Paint, ...] = (_EVERYONE, 1 << rank, 1 << rank, _EVERYONE)
            cells += [part if at <= step else 0 for at, part in enumerate(parts)]
        frames.append(MotionFrame(text, tuple(cells)))
    return Motion(
        title=translate("An MLP on {ranks} GPUs", ranks=_RANKS),
        summary=translate("columns, then rows: one all-reduce at the end"),
        frames=tuple(frames),
        on=lambda paper: grid_scene(_ranks(), columns, paper),
        ranks=_RANKS,
        still=len(frames) - 1,
    )


def gather_beside_product() -> Motion:
    """Shards that travel a ring while each rank multiplies the one that it has."""
    frames = []
    for step in range(_RANKS + 1):
        done = [{(rank - back) % _RANKS for back in range(step)} for rank in range(_RANKS)]
        says = (
            translate("Each rank has its own shard of the weights.")
            if not step
            else translate(
                "Products done: {step} of {ranks}. While it multiplies a shard, a rank receives the next one.",
                step=step,
                ranks=_RANKS,
            )
        )
        cells = [cell for rank in range(_RANKS) for cell in (0, rank_bits(done[rank]))]
        steps = min(step, _RANKS - 1)
        pieces = tuple(MovingPiece(2 * ((shard + steps) % _RANKS), 1 << shard) for shard in range(_RANKS))
        frames.append(MotionFrame(says, tuple(cells), pieces))
    columns = (translate("shard that it has"), translate("products that are done"))
    return Motion(
        title=translate("An all-gather beside its matrix product"),
        summary=translate("only the first shard is not waited for, and only the last product is not hidden"),
        frames=tuple(frames),
        on=lambda paper: grid_scene(_ranks(), columns, paper),
        ranks=_RANKS,
        still=2,
    )


def rank_bits(ranks: Iterable[int]) -> int:
    """The paint of a cell with the values of these *ranks*."""
    return sum(1 << rank for rank in ranks)


_SIDE = 15.0  # pixels of a token
_EXPERTS, _CAPACITY, _DEEPEST = 4, 6, 9
# The expert of each token, by the rank that has it: the first expert is everyone's favorite.
_CHOSEN = ((0, 0, 1, 2, 0), (0, 3, 1, 0, 2), (1, 0, 0, 3, 2), (0, 2, 0, 3, 1))
_REQUESTS = ((0, 5, 7), (0, 3, 4), (2, 4, 9), (5, 4, 6))  # step of its arrival, prompt, tokens to generate
_LONGEST = max(prompt + tokens for _, prompt, tokens in _REQUESTS)


def tokens_to_experts() -> Motion:
    """Tokens that leave their ranks for their experts; what is above the capacity is dropped."""
    limited = route([[[expert] for expert in own] for own in _CHOSEN], _EXPERTS, _CAPACITY)
    tokens = [(rank, at, expert) for rank, own in enumerate(_CHOSEN) for at, expert in enumerate(own)]
    tokens.sort(key=lambda token: token[1])
    home = len(_CHOSEN) * len(_CHOSEN[0])
    places = [rank * len(_CHOSEN[0]) + at for rank, at, _ in tokens]
    paints = [f"r{rank}" for rank, _, _ in tokens]
    frames = [MotionFrame(translate("Each rank has its tokens, in its color."), (), _pieces(places, paints))]
    filled = [0] * _EXPERTS
    for turn in range(len(_CHOSEN[0])):
        for number, (_, at, expert) in enumerate(tokens):
            if at == turn:
                places[number] = home + expert * _DEEPEST + filled[expert]
                if filled[expert] >= _CAPACITY:
                    paints[number] = "rs"
                filled[expert] += 1
        dropped = sum(max(0, one - _CAPACITY) for one in filled)
        says = translate("Expert 0 has {copies} tokens; {dropped} are dropped.", copies=filled[0], dropped=dropped)
        frames.append(MotionFrame(says, (), _pieces(places, paints)))
    return Motion(
        title=translate("Tokens on their way to {experts} experts", experts=_EXPERTS),
        summary=translate("{dropped} of {copies} do not fit", dropped=limited.dropped, copies=home),
        frames=tuple(frames),
        on=_experts_scene,
        still=len(frames) - 1,
    )


def _pieces(places: Sequence[int], paints: Sequence[str]) -> tuple[MovingPiece, ...]:
    return tuple(MovingPiece(place, paint) for place, paint in zip(places, paints, strict=True))


def _experts_scene(paper: Paper) -> Scene:
    foot, step = 250.0, paper.width / _EXPERTS
    each = _SIDE + 2
    left = (step - len(_CHOSEN[0]) * each) / 2
    homes = [
        Place(rank * step + left + at * each, 20, _SIDE, _SIDE)
        for rank in range(len(_CHOSEN))
        for at in range(len(_CHOSEN[0]))
    ]
    bins = [
        Place(expert * step + step / 2 - _SIDE / 2, foot - (level + 1) * each, _SIDE, _SIDE)
        for expert in range(_EXPERTS)
        for level in range(_DEEPEST)
    ]
    brim = foot - _CAPACITY * each - 1
    words = [
        *(
            Words(round((n + 0.5) * step, 2), 14, translate("rank {rank:,}", rank=n), anchor="middle")
            for n in range(_EXPERTS)
        ),
        *(
            Words(round((n + 0.5) * step, 2), foot + 16, translate("expert {expert}", expert=n), anchor="middle")
            for n in range(_EXPERTS)
        ),
        Words(paper.width, brim - 5, translate("capacity"), anchor="end", quiet=True),
    ]
    line = Arrow(0, brim, paper.width, brim, color=Color.GRAY, head=False, dashed=True)
    return Scene(Sheet(height=foot + 22, arrows=(line,), words=tuple(words)), (), (*homes, *bins))


def growing_caches() -> Motion:
    """The caches of requests in one memory: a token more in each step, until a request ends."""
    frames = tuple(_cache_frames())
    names = [translate("request {number}", number=number) for number in range(len(_REQUESTS))]
    return Motion(
        title=translate("Caches of keys and values, token by token"),
        summary=translate("every request grows by a token in each step"),
        frames=frames,
        on=lambda paper: _memory_scene(names, paper),
        still=6,
    )


def _cache_frames() -> Iterator[MotionFrame]:
    lasts = max(arrives + tokens for arrives, _, tokens in _REQUESTS) + 1
    for step in range(lasts):
        sizes = [
            prompt + step - arrives if arrives <= step < arrives + tokens else 0
            for arrives, prompt, tokens in _REQUESTS
        ]
        cells = [f"r{2 * row}" if at < size else "" for row, size in enumerate(sizes) for at in range(_LONGEST)]
        running = sum(map(bool, sizes))
        says = translate(
            "Step {step}: the caches of {running} requests hold {used} tokens.",
            step=step,
            running=running,
            used=sum(sizes),
        )
        yield MotionFrame(says, tuple(cells))


def _memory_scene(names: Sequence[str], paper: Paper) -> Scene:
    left, each = max(map(text_width, names)) + 10, 34.0
    wide = (paper.width - left) / _LONGEST
    cells = tuple(
        Place(left + at * wide, 8 + row * each, wide - 3, 26) for row in range(len(names)) for at in range(_LONGEST)
    )
    words = tuple(Words(0, 25 + row * each, name) for row, name in enumerate(names))
    boxes = tuple(
        Rect(*cell, color=Color.PALE, label="", says=translate("room for a token"), outlined=True) for cell in cells
    )
    return Scene(Sheet(height=12 + len(names) * each, words=words, rects=boxes), cells)


_STEPS, _SLOW = 3, 2  # steps; the slow rank
_COMPUTE, _LATE, _REDUCE = 6.0, 9.0, 2.0  # seconds of a step; of the slow rank; of the all-reduce
_WORK, _SAVE, _RESTART, _FAILS = 8.0, 1.0, 3.0, 15.0  # seconds of the run that fails


def straggler_timeline() -> Timeline:
    """Steps in which all ranks wait for one that is slow."""
    step = max(_COMPUTE, _LATE) + _REDUCE
    rows = []
    for rank, name in enumerate(_ranks()):
        compute = _LATE if rank == _SLOW else _COMPUTE
        bars = []
        for number in range(_STEPS):
            start = number * step
            bars.append(_bar(start, start + compute, "F", translate("compute")))
            bars.append(_bar(start + step - _REDUCE, start + step, "C", translate("all-reduce")))
        rows.append(Lane(name, "", tuple(bars)))
    return Timeline(
        title=translate("Three steps, and one rank that is slow"),
        summary=translate("gray: the others wait for rank {rank}", rank=_SLOW),
        rows=tuple(rows),
        end=_STEPS * step,
        kinds=(("F", translate("compute")), ("C", translate("all-reduce"))),
        note=translate("Gray: waiting. An all-reduce begins when the last rank is ready."),
        untimed=True,
    )


def failure_timeline() -> Timeline:
    """A run that saves, fails, and repeats what it had done since the last checkpoint."""
    lost = _WORK + _SAVE
    again = _FAILS + _RESTART
    end = again + _WORK + _SAVE
    bars = (
        _bar(0, _WORK, "F", translate("work")),
        _bar(_WORK, lost, "C", translate("checkpoint")),
        _bar(lost, _FAILS, "X", translate("work that is lost")),
        _bar(_FAILS, again, "W", translate("restart")),
        _bar(again, again + _WORK, "F", translate("the same work again")),
        _bar(again + _WORK, end, "C", translate("checkpoint")),
    )
    kinds = (
        ("F", translate("work")),
        ("C", translate("checkpoint")),
        ("X", translate("lost")),
        ("W", translate("restart")),
    )
    return Timeline(
        title=translate("A checkpoint and a failure"),
        summary=translate("what was done since the last checkpoint is done again"),
        rows=(Lane(translate("the run"), "", bars),),
        end=end,
        kinds=kinds,
        note=translate("The failure takes what was done since the last checkpoint."),
        untimed=True,
    )


def _bar(start: float, end: float, kind: str, says: str) -> TimeBar:
    return TimeBar(start, end, kind, "", says)
