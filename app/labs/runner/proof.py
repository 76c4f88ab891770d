"""Proof that a call moves the right data, at the size and on the path that was timed.

After the samples of a size, the same call runs on small integers, which are exact in every type, and the
result is compared everywhere. What is wrong now and then is found by repeating it: ten calls in a row find
what is wrong in every tenth, and 44 find with 99 % what is wrong at random in one of ten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

_PERIOD = 1_048_573  # elements; a prime, so that no chunk of an array looks like another one
_ON_GPU = 32  # periods of a piece
_EXACT = 256  # the integers up to here are exact in BF16
_CONTRIBUTORS = 32  # ranks whose numbers are not zero, at most: the others follow in the next calls
_WEIGHTS = 3
_FEW, _MANY = 10, 44  # calls
_QUICK, _LONG = 0.5, 5.0  # seconds for many calls, and for a few
_SEED = 2024
_NAMED = 4  # ranks with wrong data, at most


@dataclass(frozen=True, slots=True)
class Difference:
    """Wrong elements of an array: the offset of the *first*, and their *count* among *total*."""

    first: int
    count: int
    total: int


@dataclass(frozen=True, slots=True)
class DataProof:
    """What is called *name* in the checks of a run; *difference* is what is wrong here in the call of a number."""

    name: str
    difference: Callable[[int], Difference | None]


class WrongDataError(ValueError):
    """A call that was timed has moved or computed wrong numbers."""


class Pattern:
    """Small integers that tell places, ranks and calls apart; sums of those of *world* ranks are exact."""

    def __init__(self, world: int, kind: torch.dtype, device: torch.device) -> None:
        self._world, self._stride = world, -(-world // _CONTRIBUTORS)
        self._turn = 0
        most = _EXACT // (_WEIGHTS * min(world, _CONTRIBUTORS))
        generator = torch.Generator().manual_seed(_SEED)
        numbers = torch.randint(1, most + 1, (_PERIOD,), generator=generator)
        self._piece = _PERIOD * (_ON_GPU if device.type == "cuda" else 1)  # few launches
        self._numbers = numbers.to(device, kind).repeat(self._piece // _PERIOD + 1)

    def begin(self, turn: int) -> None:
        """Use the numbers of the call *turn* from now on, so that a result of an earlier call is wrong."""
        self._turn = turn

    def weight(self, rank: int) -> int:
        """What *rank* multiplies its numbers by; zero if it does not contribute to this call.

        >>> pattern = Pattern(4, torch.bfloat16, torch.device("cpu"))
        >>> [pattern.weight(rank) for rank in range(4)], pattern.total
        ([1, 2, 3, 1], 7)
        """
        return 0 if (rank + self._turn) % self._stride else 1 + rank % _WEIGHTS

    @property
    def total(self) -> int:
        """The sum of the weights of all ranks."""
        return sum(map(self.weight, range(self._world)))

    def fill(self, array: torch.Tensor, place: int = 0, weight: float = 1) -> None:
        """Fill *array* with the numbers of *place*, such as the rank that it is from."""
        for _, piece, numbers in self._pieces(array, place):
            torch.mul(numbers, weight, out=piece)

    def difference(self, array: torch.Tensor, place: int = 0, weight: float = 1) -> Difference | None:
        """What *array* has in the place of these numbers; None if they are all there."""
        first, count = -1, 0
        for start, piece, numbers in self._pieces(array, place):
            expected = numbers * weight
            if not torch.equal(piece, expected):
                wrong = (piece != expected).nonzero()
                count += len(wrong)
                first = start + int(wrong[0]) if first < 0 else first
        return Difference(first, count, array.numel()) if count else None

    def _pieces(self, array: torch.Tensor, place: int) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """The parts of *array*, and the numbers for each of them."""
        begin = (1009 * self._turn + 7919 * place) % _PERIOD
        for number, piece in enumerate(array.view(-1).split(self._piece)):
            yield number * self._piece, piece, self._numbers[begin : begin + piece.numel()]


def first_difference(parts: Sequence[Difference | None]) -> Difference | None:
    """What is wrong in an array whose *parts* are of one size."""
    wrong = [(place, one) for place, one in enumerate(parts) if one]
    if not wrong:
        return None
    place, first = wrong[0]
    return Difference(place * first.total + first.first, sum(one.count for _, one in wrong), first.total * len(parts))


def calls_of_proof(each: float, left: float) -> int:
    """How often a call of *each* seconds is proven, where *left* seconds remain.

    >>> [calls_of_proof(each, 1000.0) for each in (0.001, 0.03, 0.4, 2.0, 20.0)], calls_of_proof(0.4, 1.0)
    ([44, 16, 10, 2, 1], 1)
    """
    wanted = max(_QUICK, min(_FEW * each, _LONG), each)
    return max(1, min(_MANY, int(min(wanted, left / 2) / max(each, 1e-9) + 1e-6)))


def wrong_data(name: str, place: str, wrong: Mapping[int, tuple[int, Difference]], calls: int) -> str:
    """What is *wrong*, by rank: the number of the call, and the difference; of many ranks, the first few."""
    says = [
        f"rank {rank} has {one.count:,} of {one.total:,} elements wrong, the first at offset {one.first:,}, "
        f"in call {turn + 1} of {calls}"
        for rank, (turn, one) in wrong.items()
    ]
    more = [f"and {len(says) - _NAMED} more ranks"] if says[_NAMED:] else []
    at = f" at {place}" if place else ""
    return f"{name}{at}: the data is wrong, so its times do not count: {'; '.join([*says[:_NAMED], *more])}"
