"""In place of assignments, in a browser: there are none, so nothing is refused."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """What assignments say: nothing."""

    strips: tuple[()] = ()
    hints: str = ""
    solution: str = ""
    verdict: str = ""
    exam: bool = False
    before: str = ""

    def refusal(self, _: str) -> str:
        """Why a button is refused: it is not."""
        return ""


FREE = Assigned()


def assigned(*_: object) -> Assigned:
    """What assignments say about a drawing: nothing."""
    return FREE


rules_of = assigned
