"""The rules of an assignment, in words."""

from collections.abc import Iterator

from app.classes.pages.own_assignments import Mine
from app.classes.people.policy import Policy
from app.core.translation import noted, plural, translate

_VARIANTS = {
    "own": noted("The numbers in each exercise are your own: others have different ones."),
    "same": noted("Everyone in the class has the same numbers."),
    "many": noted("Answers with any numbers count: draw another variant as often as you like."),
}


def rules_words(one: Mine) -> Iterator[str]:
    """What counts, what costs points, and what is shown when."""
    policy = one.assignment.policy
    if policy.attempts:
        yield plural(
            "The first answer to each exercise can count.",
            "The first {number} answers to each exercise can count; the best of them does.",
            policy.attempts,
        )
    else:
        yield translate("The best answer to each exercise counts; try as often as you like.")
    yield translate(_VARIANTS[policy.variants])
    yield from _late(one)
    yield _hints(policy)
    yield _solution(policy)
    if one.hidden:
        yield translate("Verdicts and points are {hidden}.", hidden=one.hidden)


def _late(one: Mine) -> Iterator[str]:
    policy, dates = one.assignment.policy, one.dates
    if policy.sitting or dates.due is None:
        return
    if dates.closes == dates.due:
        yield translate("After the due date, nothing counts.")
        return
    until = translate(", until {moment}", moment=one.worded(dates.closes)) if dates.closes else ""
    if policy.late:
        yield translate(
            "Late answers lose {percent:g} % of the points a day begun{until}.", percent=100 * policy.late, until=until
        )
    else:
        yield translate("Late answers lose no points{until}.", until=until)


def _hints(policy: Policy) -> str:
    if policy.sitting or policy.hints == "off":
        return translate("There are no hints.")
    if policy.hints == "cost":
        return translate("Each hint costs {percent:g} % of the points of its exercise.", percent=100 * policy.hint_cost)
    return translate("Hints are free.")


def _solution(policy: Policy) -> str:
    if policy.solution == "off":
        return translate("Worked solutions are not shown.")
    if policy.solution == "due":
        return translate("Worked solutions are shown after the due date.")
    return translate("After you look at a worked solution, answers to that exercise earn no points.")
