"""One optimizer step: passes one after another, and the all-reduces."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepResult:
    """The sequences, the passes and the times of an optimizer step."""

    sequences: int
    passes: int
    computing: float
    communicating: float

    @property
    def time(self) -> float:
        """Time of the whole step, with nothing overlapped."""
        return self.computing + self.communicating


def play_step(
    micro_batch: int,
    accumulation: int,
    data_parallel: int,
    micro_time: float = 1.0,
    all_reduce_time: float = 0.0,
    *,
    reduce_each: bool = False,
) -> StepResult:
    """Feed every rank its micro-batches; reduce after the last one, or after each."""
    seen: set[tuple[int, int, int]] = set()
    computing = communicating = 0.0
    for turn in range(accumulation):
        for rank in range(data_parallel):
            seen |= {(turn, rank, place) for place in range(micro_batch)}
        computing += micro_time
        if reduce_each or turn == accumulation - 1:
            communicating += all_reduce_time
    return StepResult(len(seen), accumulation, computing, communicating)


def play_until(target_batch: int, micro_batch: int, data_parallel: int) -> StepResult:
    """Add passes until a step has seen *target_batch* sequences."""
    passes = 0
    played = StepResult(0, 0, 0.0, 0.0)
    while played.sequences < target_batch:
        passes += 1
        played = play_step(micro_batch, passes, data_parallel)
    return played
