"""How far others took the processor from a rank while its samples were taken."""

import json
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from app.labs.ranks.events import StrainEvent

_PRESSURE = Path("/proc/pressure/cpu")  # since Linux 4.20, unless it is turned off
_MICRO = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStrain:
    """Of one rank: involuntary context switches, and seconds, of the clock and of the processor.

    *system* are those within the kernel, *pressure* those in which any process of the machine
    waited for a processor; None where the kernel does not count them.
    """

    seconds: float = 0.0
    switches: int = 0
    processor: float = 0.0
    system: float = 0.0
    pressure: float | None = None

    def since(self, before: "RankStrain") -> "RankStrain":
        """What was added after *before*."""
        pressed = self.pressure is not None and before.pressure is not None
        return RankStrain(
            seconds=self.seconds - before.seconds,
            switches=self.switches - before.switches,
            processor=self.processor - before.processor,
            system=self.system - before.system,
            pressure=(self.pressure or 0.0) - (before.pressure or 0.0) if pressed else None,
        )

    def plus(self, other: "RankStrain") -> "RankStrain":
        """Both together."""
        pressures = [one for one in (self.pressure, other.pressure) if one is not None]
        return RankStrain(
            seconds=self.seconds + other.seconds,
            switches=self.switches + other.switches,
            processor=self.processor + other.processor,
            system=self.system + other.system,
            pressure=sum(pressures) if pressures else None,
        )

    def as_json(self) -> str:
        """To send it to rank 0."""
        return json.dumps(asdict(self))


class StrainMeter:
    """Counts while samples are taken, and only then."""

    def __init__(self) -> None:
        self.total = RankStrain()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count until the end of this context."""
        before = _strain_now()
        try:
            yield
        finally:
            self.total = self.total.plus(_strain_now().since(before))


def strain_event(texts: Sequence[str]) -> StrainEvent:
    """The event with the strain of every rank, each a text of `RankStrain.as_json`."""
    ranks = [RankStrain(**json.loads(text)) for text in texts]
    return StrainEvent(
        at=time.time(),
        seconds=tuple(one.seconds for one in ranks),
        switches=tuple(one.switches for one in ranks),
        processor=tuple(one.processor for one in ranks),
        system=tuple(one.system for one in ranks),
        pressure=tuple(one.pressure for one in ranks),
    )


def _strain_now() -> RankStrain:
    """The counters of this process and of its machine."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return RankStrain(
        seconds=time.perf_counter(),
        switches=used.ru_nivcsw,
        processor=used.ru_utime + used.ru_stime,
        system=used.ru_stime,
        pressure=processor_pressure(_PRESSURE),
    )


def processor_pressure(path: Path) -> float | None:
    """Seconds in which some process waited for a processor, as *path* has them."""
    try:
        some = path.read_text().partition("\n")[0]
    except OSError:
        return None
    total = some.rpartition("total=")[2]
    return int(total) * _MICRO if some.startswith("some") and total.isdigit() else None
