"""Figures that move: every frame is a state that can be, and the page can play it without asking."""

import math
from collections import Counter

import pytest

from app.core.charts.axes import PAPERS, Paper, text_width
from app.core.charts.motion import Motion, MotionFrame, MovingPiece, Paint
from app.core.charts.timeline import TimeBar, Timeline
from app.core.formulas.collectives import ring_all_reduce_steps, tree_all_reduce_steps
from app.core.motions.answers import GOAL, climbed_roof, covered_columns, memory_read, small_and_large_step
from app.core.motions.ranks import (
    failure_timeline,
    gather_beside_product,
    growing_caches,
    partial_sums,
    sharded_layers,
    straggler_timeline,
    tokens_to_experts,
)
from app.core.motions.rings import ring_beside_tree, ring_motion, tree_frames

MOTIONS = {
    "ring of 2": ring_motion(2),
    "ring of 8": ring_motion(8, ("1 GB on each",)),
    "ring of 16": ring_motion(16),
    "ring and tree": ring_beside_tree(8, 2.0, 3.0, str),
    "tree of 5": ring_beside_tree(5, 2.0, 9.0, str),
    "layers": sharded_layers(),
    "sums": partial_sums(),
    "gather": gather_beside_product(),
    "experts": tokens_to_experts(),
    "caches": growing_caches(),
    "roof": climbed_roof("989 TFLOP/s", "3,352 GB/s"),
    "columns": covered_columns(49152, 8),
    "columns of 2": covered_columns(20480, 2),
    "steps": small_and_large_step(1024, 16384),
    "memory": memory_read(16e9, 1e12),
}
each_motion = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
def test_the_table_of_a_motion_is_what_its_frames_say(motion: Motion) -> None:
    header, *rows = motion.table
    assert rows == [(str(number), frame.says) for number, frame in enumerate(motion.frames)]
    assert header == ("Step", "What it shows")


def everyone(ranks: int) -> int:
    return (1 << ranks) - 1


def read_back(motion: Motion) -> list[tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]]:
    """The frames as static/player.js reads them."""
    cells: dict[int, str] = {}
    pieces: dict[int, tuple[str, str, str]] = {}
    found = []
    for frame in motion.changes.split("|"):
        for change in filter(None, frame.split(",")):
            number, place, *more = change.split(" ", 3)
            if more:
                pieces[int(number)] = (place, more[0], more[1])
            else:
                cells[int(number)] = place
        found.append((tuple(cells[n] for n in sorted(cells)), tuple(pieces[n] for n in sorted(pieces))))
    return found


def written(frame: MotionFrame) -> tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]:
    def piece(one: MovingPiece) -> tuple[str, str, str]:
        return ("-" if one.place is None else str(one.place), str(one.paint), one.label)

    return tuple(map(str, frame.cells)), tuple(map(piece, frame.pieces))


@each_motion
def test_the_changes_of_frames_give_every_frame_back(motion: Motion) -> None:
    assert read_back(motion) == [written(frame) for frame in motion.frames]
    assert motion.said.split("|") == [frame.says for frame in motion.frames]
    assert 0 <= motion.still < len(motion.frames)


@each_motion
@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_cells_pieces_and_words_are_inside_the_paper(motion: Motion, paper: Paper) -> None:
    scene = motion.on(paper)
    for frame in motion.frames:
        assert len(frame.cells) == len(scene.cells)
        assert all(piece.place is None or piece.place < len(scene.places) for piece in frame.pieces)
    for x, y, width, height in (*scene.cells, *scene.places):
        assert -0.5 <= x <= x + width <= paper.width + 0.5
        assert 0 <= y <= y + height <= scene.sheet.height
    for words in scene.sheet.words:
        reach = text_width(words.text)
        start = words.x - {"start": 0.0, "middle": reach / 2, "end": reach}[words.anchor]
        assert -1 <= start <= start + reach <= paper.width + 1, words.text


@each_motion
def test_pieces_do_not_cover_each_other(motion: Motion) -> None:
    frames = motion.frames if motion is not MOTIONS["ring and tree"] and motion is not MOTIONS["tree of 5"] else ()
    for frame in frames:
        places = [piece.place for piece in frame.pieces if piece.place is not None]
        assert len(set(places)) == len(places), frame.says


@pytest.mark.parametrize("ranks", [2, 3, 8, 16])
def test_a_ring_ends_when_every_rank_has_the_colors_of_all(ranks: int) -> None:
    frames = ring_motion(ranks).frames
    assert len(frames) == ring_all_reduce_steps(ranks) + 1
    full = [all(cell == everyone(ranks) for cell in frame.cells) for frame in frames]
    assert full == [False] * (len(frames) - 1) + [True]
    assert list(map(bits, frames[0].cells)) == [1] * ranks**2


def test_a_rank_owns_the_sum_of_the_next_chunk_after_the_reduce_scatter() -> None:
    after = ring_motion(8).frames[7]
    owned = [[chunk for chunk in range(8) if after.cells[8 * rank + chunk] == everyone(8)] for rank in range(8)]
    assert owned == [[(rank + 1) % 8] for rank in range(8)]


def bits(paint: Paint) -> int:
    return int(paint).bit_count()


def test_a_chunk_goes_one_rank_to_the_right_and_takes_one_color_up() -> None:
    frames = ring_motion(4).frames
    for before, now in zip(frames[:3], frames[1:4], strict=True):
        for old, piece in zip(before.pieces, now.pieces, strict=True):
            assert old.place is not None
            assert piece.place == (old.place + 4) % 16
            assert bits(piece.paint) == bits(old.paint) + 1
            assert now.cells[piece.place] == piece.paint


@pytest.mark.parametrize("ranks", [2, 3, 8, 9])
def test_a_tree_has_the_sum_at_its_root_half_way_and_everywhere_at_its_end(ranks: int) -> None:
    frames = tree_frames(ranks)
    steps = tree_all_reduce_steps(ranks)
    assert len(frames) == steps + 1
    assert [frame.cells[0] == everyone(ranks) for frame in frames].index(True) == steps // 2
    assert set(frames[-1].cells) == {everyone(ranks)}
    assert set(frames[-2].cells) != {everyone(ranks)}


def test_a_ring_and_a_tree_share_one_clock() -> None:
    """Three steps of a tree take as long as two of the other here: some frames move one of them alone."""
    motion = ring_beside_tree(4, 2.0, 3.0, lambda seconds: f"{seconds:g} s")
    says = [frame.says for frame in motion.frames]
    assert says[0] == "After 0 s: step 0 of 6 of the ring, 0 of 4 of the tree."
    assert says[1] == "After 2 s: step 1 of 6 of the ring, 0 of 4 of the tree."
    assert says[2] == "After 3 s: step 1 of 6 of the ring, 1 of 4 of the tree."
    assert says[-1] == "After 12 s: step 6 of 6 of the ring, 4 of 4 of the tree."


def test_a_rank_has_at_most_one_whole_layer() -> None:
    whole = [
        [frame.cells[rank * 4 : rank * 4 + 4].count(15) for rank in range(4)] for frame in sharded_layers(4).frames
    ]
    assert whole == [[0] * 4, *([[1] * 4] * 8), [0] * 4]


def test_partial_sums_have_one_color_until_they_are_added() -> None:
    frames = partial_sums().frames
    assert [frames[2].cells[4 * rank + 2] for rank in range(4)] == [1, 2, 4, 8]
    assert [frames[2].cells[4 * rank + 3] for rank in range(4)] == [0] * 4
    assert [frames[3].cells[4 * rank + 3] for rank in range(4)] == [15] * 4


def test_a_rank_multiplies_the_shard_that_it_had_before_the_step() -> None:
    frames = gather_beside_product().frames
    for before, now in zip(frames, frames[1:], strict=False):
        for rank in range(4):
            had = sum(int(piece.paint) for piece in before.pieces if piece.place == 2 * rank)
            assert int(now.cells[2 * rank + 1]) == int(before.cells[2 * rank + 1]) | had
    assert [frames[-1].cells[2 * rank + 1] for rank in range(4)] == [15] * 4


def test_what_does_not_fit_an_expert_is_dropped() -> None:
    motion = tokens_to_experts()
    last = [piece for piece in motion.frames[-1].pieces if piece.place is not None]
    dropped = [piece for piece in last if piece.paint == "rs"]
    assert motion.summary == f"{len(dropped)} of {len(last)} do not fit"
    assert len(dropped) == 3
    height = motion.on(PAPERS["wide"])
    brim = min(arrow.y1 for arrow in height.sheet.arrows)
    for piece in last:
        assert (height.places[piece.place or 0].y < brim) == (piece.paint == "rs")


def test_a_cache_grows_by_a_token_in_each_step_of_its_request() -> None:
    motion = growing_caches()
    used = [Counter(frame.cells) for frame in motion.frames]
    first = [colors["r0"] for colors in used]
    assert first == [5, 6, 7, 8, 9, 10, 11, *[0] * (len(first) - 7)]
    assert used[-1].total() == used[-1][""]


def bars(timeline: Timeline) -> list[list[TimeBar]]:
    return [list(row.bars) for row in timeline.rows]


def test_all_ranks_reduce_once_the_slowest_has_computed() -> None:
    rows = bars(straggler_timeline())
    reduces = {tuple(bar.start for bar in row if bar.kind == "C") for row in rows}
    assert len(reduces) == 1
    computes = [[bar.end for bar in row if bar.kind == "F"] for row in rows]
    assert list(reduces.pop()) == [max(ends) for ends in zip(*computes, strict=True)]


def test_a_failure_takes_what_was_done_since_the_checkpoint() -> None:
    (row,) = bars(failure_timeline())
    kinds = [bar.kind for bar in row]
    assert kinds == ["F", "C", "X", "W", "F", "C"]
    assert all(math.isclose(one.end, other.start) for one, other in zip(row, row[1:], strict=False))


def test_every_column_is_on_one_gpu_in_the_frame_of_the_right_number_alone() -> None:
    for ranks in (2, 3, 8):
        motion = covered_columns(4096, ranks)
        once = [all(bits(cell) == 1 for cell in frame.cells) for frame in motion.frames]
        assert [at for at, is_once in enumerate(once) if is_once] == [8]
        assert Counter(motion.frames[8].cells) == {1 << rank: 8 for rank in range(ranks)}
        assert any(not bits(cell) for cell in motion.frames[7].cells)
        assert set(motion.frames[-1].cells) == {everyone(ranks)}
        assert len({motion.frames[at].says for at in (7, 8, 9)}) == 3


@pytest.mark.parametrize(
    ("motion", "goal"),
    [
        (climbed_roof("1 PFLOP/s", "1 TB/s"), GOAL),
        (memory_read(1e9, 4e12), GOAL),
        (memory_read(4e12, 1e9), GOAL),
        (small_and_large_step(256, 1024), 4),
    ],
)
def test_cells_fill_one_by_one_and_are_red_beyond_the_right_number(motion: Motion, goal: int) -> None:
    first = motion.frames[0].cells
    for done, frame in enumerate(motion.frames):
        filled = [now for was, now in zip(first, frame.cells, strict=True) if now != was]
        assert len(filled) == done
        assert filled.count("rs") == max(0, done - goal)
    assert len(motion.frames) > goal + 1
    assert len({motion.frames[at].says for at in (0, goal - 1, goal, goal + 1)}) == 3


def test_the_dot_is_at_the_corner_of_the_roof_when_the_ridge_is_reached() -> None:
    scene = climbed_roof("1 PFLOP/s", "1 TB/s").on(PAPERS["wide"])
    tops = [place.y for place in scene.places]
    assert all(later < earlier for earlier, later in zip(tops[:GOAL], tops[1 : GOAL + 1], strict=True))
    assert set(tops[GOAL:]) == {min(tops)}
    ridge = next(arrow.x1 for arrow in scene.sheet.arrows if arrow.dashed)
    assert math.isclose(scene.places[GOAL].x + scene.places[GOAL].width / 2, ridge, abs_tol=0.01)


def test_weights_and_caches_have_cells_in_proportion_and_at_least_one() -> None:
    for weights, caches, cells in ((1.0, 1.0, 6), (2.0, 1.0, 8), (1.0, 1e6, 1), (1e6, 1.0, 11)):
        assert memory_read(weights, caches).frames[GOAL].cells.count("f") == cells
