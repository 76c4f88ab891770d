"""A row for the GPU of each rank: what it reached, and in which state it was when the run ended."""

from collections.abc import Iterator, Sequence

from app.core.translation import translate
from app.labs.machines.machine import MachineFacts
from app.labs.results.disturbance import readings_in, slowed_by_rank
from app.labs.results.notes import held_down_in_words
from app.labs.results.report import GpuRow, Measure
from app.labs.run import Event
from app.labs.runner.events import ClocksEvent, GpuReading

_NOTHING = GpuReading()
_MEGA = 1e6


def gpu_rows(events: Sequence[Event], machine: MachineFacts, measures: Sequence[Measure]) -> tuple[GpuRow, ...]:
    """The GPUs of all ranks, as far as their vendor's tool or the times of each rank tell."""
    looks = {one.when: one for one in events if isinstance(one, ClocksEvent)}
    before, after = looks.get("before"), looks.get("after")
    readings = readings_in(after) if after else ()
    slowed = slowed_by_rank(before, after) if before and after else {}
    rates = next((one.derived_by_rank for one in reversed(measures) if one.derived_by_rank), ())
    found = []
    for rank in range(max(len(readings), len(rates))):
        reading = (readings[rank] if rank < len(readings) else None) or _NOTHING
        listed = str(machine.uuids[rank]) if rank < len(machine.uuids) else ""
        row = GpuRow(
            rank=rank,
            uuid=reading.uuid or listed,
            rates=rates[rank] if rank < len(rates) else {},
            clock=reading.clock,
            temperature=reading.temperature,
            power=reading.power,
            throttled=held_down_in_words(slowed.get(rank, {})),
        )
        found.append(row)
    return tuple(found)


def gpu_table(rows: Sequence[GpuRow]) -> Iterator[tuple[str, ...]]:
    """The *rows* as a table, without columns of which nothing is known."""
    names = dict.fromkeys(name for row in rows for name in row.rates)
    columns = [
        (translate("Rank"), *(str(row.rank) for row in rows)),
        ("UUID", *(row.uuid for row in rows)),
        *((name, *(_rate(row, name) for row in rows)) for name in names),
        (translate("Clock"), *(_clock(row) for row in rows)),
        (translate("Temperature"), *(_amount(row.temperature, "°C") for row in rows)),
        (translate("Power"), *(_amount(row.power, "W") for row in rows)),
        (translate("Held down"), *(row.throttled for row in rows)),
    ]
    yield from zip(*(one for one in columns if any(one[1:])), strict=True)


def _rate(row: GpuRow, name: str) -> str:
    return row.rates[name].shown if name in row.rates else ""


def _clock(row: GpuRow) -> str:
    return "" if row.clock is None else f"{row.clock / _MEGA:.0f} MHz"


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.0f} {unit}"
