import random

import pytest

from app.core.formulas.serving import cache_pages, cache_transfer_time, cache_used, largest_batch
from tests.each import each

LENGTHS = (100, 700, 1500, 61)


@each(("memory", "weights", "context", "reserved"), [(1000, 300, 7, 90), (50, 60, 3, 0)])
def test_largest_batch_is_what_can_be_put_in_one_by_one(memory: int, weights: int, context: int, reserved: int) -> None:
    used, batch = weights + reserved, 0
    while used + context * 4 <= memory:
        used += context * 4
        batch += 1
    assert largest_batch(memory, weights, context, 4, reserved) == batch


def test_largest_batch_of_llama_3_1_70b_on_eight_h100() -> None:
    assert largest_batch(640e9, 141.1e9, 8192, 327_680, 64e9) == 162
    assert largest_batch(640e9, 141.1e9, 8192, 163_840, 64e9) == 324
    assert largest_batch(640e9, 141.1e9 / 4, 8192, 327_680, 64e9) == 201


def test_cache_pages_are_those_of_a_server_that_hands_them_out() -> None:
    source = random.Random(5)
    for _ in range(50):
        lengths = [source.randint(1, 60) for _ in range(source.randint(1, 9))]
        page, pages, room = source.randint(1, 20), 0, [0] * len(lengths)
        for step in range(max(lengths)):
            for place, length in enumerate(lengths):
                if step < length:
                    if not room[place]:
                        pages, room[place] = pages + 1, page
                    room[place] -= 1
        assert cache_pages(lengths, page) == pages


def test_cache_pages_of_one_token_waste_nothing() -> None:
    assert cache_pages(LENGTHS, 1) == sum(LENGTHS)
    assert cache_pages(LENGTHS, 4096) == len(LENGTHS)
    assert cache_pages(LENGTHS, 16) == 7 + 44 + 94 + 4


def test_cache_used_is_the_share_of_marked_places() -> None:
    places = [[token < length for token in range(2048)] for length in LENGTHS]
    marked = sum(sum(row) for row in places) / sum(len(row) for row in places)
    assert cache_used(LENGTHS, 2048) == pytest.approx(marked, rel=1e-12)
    assert cache_used([2048] * 3, 2048) == 1
    with pytest.raises(ValueError, match=r"^lengths must be at most the longest, 512, not 700"):
        cache_used(LENGTHS, 512)


def test_cache_used_and_cache_pages_agree_where_a_page_is_all_that_is_allowed() -> None:
    for longest in (1500, 2048):
        reserved = cache_pages(LENGTHS, longest) * longest
        assert cache_used(LENGTHS, longest) == pytest.approx(sum(LENGTHS) / reserved, rel=1e-12)


def test_cache_transfer_time_is_that_of_heads_sent_over_their_own_cards() -> None:
    cards = [0.0] * 8
    for head in range(8):
        for _layer in range(80):
            cards[head] += 8192 * 128 * 2 * 2 / 50e9
    assert len(set(cards)) == 1
    assert cache_transfer_time(8192, 327_680, 400e9) == pytest.approx(max(cards), rel=1e-9)
    assert cache_transfer_time(8192, 327_680, 3.125e9) == pytest.approx(0.859, abs=5e-4)
