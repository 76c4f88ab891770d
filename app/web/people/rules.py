"""The rules of an assignment, in words."""

from collections.abc import Iterator

from app.people.policy import Policy
from app.web.people.mine import Mine

_VARIANTS = {
    "own": "The numbers in each exercise are your own: others have different ones.",
    "same": "Everyone in the class has the same numbers.",
    "many": "Answers with any numbers count: draw another variant as often as you like.",
}


def rules_of(one: Mine) -> Iterator[str]:
    """What counts, what costs points, and what is shown when."""
    policy = one.assignment.policy
    if policy.attempts:
        count = "answer" if policy.attempts == 1 else f"{policy.attempts} answers"
        yield f"The first {count} to each exercise can count{_best(policy)}."
    else:
        yield "The best answer to each exercise counts; try as often as you like."
    yield _VARIANTS[policy.variants]
    yield from _late(one)
    yield _hints(policy)
    yield _solution(policy)
    if one.hidden:
        yield f"Verdicts and points are {one.hidden}."


def _best(policy: Policy) -> str:
    return "; the best of them does" if policy.attempts > 1 else ""


def _late(one: Mine) -> Iterator[str]:
    policy, dates = one.assignment.policy, one.dates
    if policy.sitting or dates.due is None:
        return
    if dates.closes == dates.due:
        yield "After the due date, nothing counts."
        return
    until = f", until {one.worded(dates.closes)}" if dates.closes else ""
    if policy.late:
        yield f"Late answers lose {100 * policy.late:g} % of the points a day begun{until}."
    else:
        yield f"Late answers lose no points{until}."


def _hints(policy: Policy) -> str:
    if policy.sitting or policy.hints == "off":
        return "There are no hints."
    if policy.hints == "cost":
        return f"Each hint costs {100 * policy.hint_cost:g} % of the points of its exercise."
    return "Hints are free."


def _solution(policy: Policy) -> str:
    if policy.solution == "off":
        return "Worked solutions are not shown."
    if policy.solution == "due":
        return "Worked solutions are shown after the due date."
    return "After you look at a worked solution, answers to that exercise earn no points."
