"""Tokens on their way to experts, and caches that grow with every token."""

from collections.abc import Iterator, Sequence

from app.core.charts.axes import Arrow, Color, Paper, Rect, Sheet, Words, text_width
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Place, Scene
from app.core.motions.shards import frame_table
from app.core.simulators.sharding import route
from app.core.translation import translate

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
        table=frame_table(frames),
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
        table=frame_table(frames),
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
