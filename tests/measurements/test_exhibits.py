"""What exercises show of published measurements is what the readers say of them now."""

import pytest

from app.core.measurements.exhibits import exhibit_called, exhibits
from app.core.measurements.published import text_of
from app.course.kinds.drawn_values import draw
from tests.measurements.slow_ranks import MADE
from tools.exhibit_file import exhibits_read

REWRITE = "the readers say something else now: python -m tools.exhibit_file"


def test_the_stored_exhibits_are_what_the_readers_say() -> None:
    found = exhibits_read()
    assert list(exhibits()) == list(found)
    for name, one in found.items():
        stored = exhibits()[name]
        assert (stored.address, stored.hardware) == (one.address, one.hardware), name
        assert stored.text == one.text, f"{name}: {REWRITE}"
        assert list(stored.quantities) == list(one.quantities), f"{name}: {REWRITE}"
        for key, (value, unit) in one.quantities.items():
            kept, its_unit = stored.quantities[key]
            assert kept == pytest.approx(value, rel=1e-9), f"{name}, {key}: {REWRITE}"
            assert its_unit == unit, f"{name}, {key}: {REWRITE}"


def test_an_exhibit_shows_the_values_of_its_file_as_they_were_printed() -> None:
    """The last row of the listing, taken from the file by hand."""
    shown = exhibit_called("h100-16-oci").text.splitlines()
    assert "17179869184    4294967296     float     sum      -1    68359  251.32  471.22" in " ".join(
        text_of("h100-16-oci").splitlines()
    )
    assert shown[-2].split() == ["17179869184", "68359", "251.32", "471.22"]
    assert shown[1] == "# ..."  # of 16 lines of ranks, the first and the last


def test_the_reader_finds_the_straggler_of_a_made_job_and_what_its_exhibit_says() -> None:
    """Arrivals and transfer as they were made, four whole steps: compute + late start."""
    assert list(MADE) == [name for name, one in exhibits().items() if not one.address]
    for name, job in MADE.items():
        read = job.reports()
        times = [report.tolls.communication for report in read]
        longest = times.index(max(times))
        computing = [report.tolls.compute for report in read]
        said = {
            "last": (read[0].last or (0,))[0],
            "longest": longest,
            "busiest": computing.index(max(computing)),
            "waited": read[longest].skew,
            "running": times[longest],
            "first": times[0],
            "transfer": times[longest] - read[longest].skew,
        }
        assert {key: value for key, (value, _) in exhibit_called(name).quantities.items()} == pytest.approx(said)
        arrivals = [a + b for a, b in zip(job.compute, job.late, strict=True)]
        found = exhibit_called(name).quantities
        assert found["last"][0] == arrivals.index(max(arrivals))
        assert found["waited"][0] == pytest.approx(4e-3 * (max(arrivals) - min(arrivals)))
        assert found["transfer"][0] == pytest.approx(4 * 6e-3)


def test_a_listing_without_bandwidths_has_none() -> None:
    drawn = draw(0, {}, [{"file": "h100-16-oci"}], {}, "", {"table": "{file}"})
    assert "471.22" in drawn.listings["table"]
    assert "68359" in drawn.listings["table_times"]
    for told in ("471.22", "251.32", "busbw", "Avg", "Rank"):
        assert told not in drawn.listings["table_times"]
    assert drawn.shown == {"file": "h100-16-oci"}  # what is stored with each answer


def test_an_unknown_exhibit_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="no exhibit is called 'h100-16-oco'.*'h100-16-oci'"):
        draw(0, {}, [{"file": "h100-16-oco"}], {}, "", {"table": "{file}"})
