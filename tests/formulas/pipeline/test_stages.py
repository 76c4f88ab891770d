import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.pipeline import layers_per_stage, point_to_point_bytes
from app.core.simulators.pipeline import Times, build, simulate_schedule
from tests.each import each

EQUAL = Times(1, 1, 1)


def test_layers_per_stage_of_llama_3_405b_are_fewer_on_the_first_and_the_last() -> None:
    assert layers_per_stage(126, 16) == (7, *(8,) * 14, 7)


def test_layers_per_stage_of_an_even_split() -> None:
    assert layers_per_stage(80, 4) == (20, 20, 20, 20)
    assert layers_per_stage(5, 5) == (1,) * 5


@given(st.integers(1, 300), st.integers(1, 300))
def test_layers_per_stage_add_up_and_differ_by_one_at_most(layers: int, stages: int) -> None:
    if stages > layers:
        with pytest.raises(ValueError, match=r"^stages must be at most the layers"):
            layers_per_stage(layers, stages)
        return
    each = layers_per_stage(layers, stages)
    assert len(each) == stages
    assert sum(each) == layers
    assert max(each) - min(each) <= 1
    longest = [place for place, count in enumerate(each) if count == max(each)]
    assert longest == list(range(longest[0], longest[-1] + 1))  # the short ones are at the ends


@each(("name", "virtual"), [("gpipe", 1), ("1f1b", 1), ("zb_h1", 1), ("interleaved", 2), ("interleaved", 4)])
def test_point_to_point_bytes_are_those_that_all_devices_send(name: str, virtual: int) -> None:
    played = simulate_schedule(build(name, 4, 12, virtual), EQUAL)
    assert point_to_point_bytes(500e6, 4, 12, virtual) == 500e6 * sum(played.sends)


def test_point_to_point_bytes_of_a_known_pipeline() -> None:
    assert point_to_point_bytes(500e6, 4, 12, 4) == 180e9
    assert point_to_point_bytes(500e6, 4, 12) == 36e9
    assert point_to_point_bytes(500e6, 1, 12) == 0
