import pytest

from app.core.formulas import throughput
from tests.each import each
from tests.oracles import throughput as simulated


@each(
    ("rows", "columns", "processors"),
    [(4224, 1024, 132), (4352, 1024, 132), (129, 257, 3), (128, 256, 5), (1000, 3000, 7)],
)
def test_wave_utilization_is_that_of_tiles_on_processors(rows: int, columns: int, processors: int) -> None:
    time = simulated.time_of_tiles(rows, columns, (128, 256), processors)
    tiles = simulated.time_of_tiles(rows, columns, (128, 256), 1)
    used = throughput.wave_utilization(rows, columns, 128, 256, processors)
    assert used == pytest.approx(tiles / (time * processors), rel=1e-12)


def test_wave_utilization_of_many_waves_is_nearly_everything() -> None:
    assert throughput.wave_utilization(128 * 132 * 1000 + 1, 256, 128, 256, 132) > 0.999
    assert throughput.wave_utilization(1, 1, 128, 256, 132) == pytest.approx(1 / 132)


@each(("launch", "device"), [(15e-6, 4.8e-3), (5e-6, 4.8e-3), (1e-6, 1e-5)])
def test_launch_bound_time_is_the_limit_of_many_kernels(launch: float, device: float) -> None:
    kernels = 384
    played = simulated.launched(kernels, launch, device)
    limit = throughput.launch_bound_time(kernels, launch, device)
    assert 0 < played - limit == pytest.approx(min(launch, device / kernels), rel=1e-9)


@each(("samples", "sample_time", "step_time"), [(256, 0.15, 0.4), (7, 0.3, 1.0), (3, 0.01, 5.0)])
def test_loader_workers_are_the_fewest_that_keep_up(samples: int, sample_time: float, step_time: float) -> None:
    needed = throughput.loader_workers(samples, sample_time, step_time)
    steps = 200
    late = steps * step_time + sample_time
    assert simulated.last_batch(int(needed), samples, sample_time, steps) <= late * (1 + 1e-9)
    if needed > 1:
        assert simulated.last_batch(int(needed) - 1, samples, sample_time, steps) > late


def test_loader_workers_that_finish_exactly_in_time_are_enough() -> None:
    assert throughput.loader_workers(256, 0.15, 0.4) == 96
    assert throughput.loader_workers(3, 0.1, 0.3) == 1
