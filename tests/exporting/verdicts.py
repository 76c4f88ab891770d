"""Every exercise at several seeds: the verdicts of an exported course are those of the server.

python -m tests.exporting.verdicts FOLDER [SEEDS], where `wallclock export FOLDER` was run.
"""

import asyncio
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter

from playwright.sync_api import Page, sync_playwright

from app.course.content.course import read_course
from app.course.kinds import Answer, Exercise, Verdict
from app.course.kinds.choice import LabExercise
from app.course.sandbox.runner import Runner
from app.server.aside.fair_queue import grader
from app.server.config import Settings
from app.site.markdown import html
from tests.browser.browser import launch
from tests.exporting.chromium import Wish, answered, served

_MOST = 6  # wrong answers to a drawing
_MATH = re.compile("<math.*?</math>")  # learners' formulas have wider spaces in a browser
Case = tuple[Exercise, int, Answer]


def cases(exercise: Exercise, seed: int, most: int = _MOST) -> Iterator[Case]:
    """The right answer to a drawing, and some wrong ones."""
    yield exercise, seed, exercise.right_answer(seed)
    for answer, _ in islice(exercise.mistakes(seed), most):
        yield exercise, seed, answer


def fields(exercise: Exercise, seed: int, answer: Answer) -> list[tuple[str, str]]:
    """*answer* as the page of *exercise* sends it."""
    if isinstance(answer, dict):
        return [(f"answer.{name}", text) for name, text in answer.items()]
    if isinstance(answer, list) and exercise.kind == "order":
        return [(f"place.{key}", str(place)) for place, key in enumerate(answer, 1)]
    return [("answer", text) for text in ([answer] if isinstance(answer, str) else answer)]


def wishes_of(case: Case) -> Iterator[Wish]:
    """The requests of one answer, in a browser in which nothing was done before."""
    exercise, seed, answer = case
    address, given = f"/exercises/{exercise.id}?seed={seed}", fields(exercise, seed, answer)
    yield "POST", "/progress/delete", [("sure", "yes")]
    if isinstance(exercise, LabExercise):
        yield "POST", address, [*given, ("action", "predict")]
    yield "POST", address, [*given, ("action", "check")]


def differences(verdict: Verdict, text: str) -> Iterator[str]:
    """What of the server's *verdict* the page *text* does not say."""
    state = "correct" if verdict.correct else "partial" if verdict.score > 0 else "incorrect"
    if f'data-state="{state}"' not in text:
        yield f"not {state}"
    for sentence in verdict.feedback:
        if _MATH.sub("", str(html(sentence))) not in _MATH.sub("", text):
            yield f"does not say {sentence!r}"


async def graded(settings: Settings, asked: Sequence[Case]) -> list[Verdict]:
    """The server's verdicts."""
    runner = Runner(settings)
    await runner.start()
    await runner.ready()
    client = runner.on_behalf_of(grader("verdicts"))
    found = [await exercise.grade(seed, answer, client) for exercise, seed, answer in asked]
    await runner.close()
    return found


def compared(page: Page, base: str, asked: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """What the desk says otherwise than these *verdicts*."""
    wishes = [list(wishes_of(case)) for case in asked]
    texts = iter(answered(page, base, [wish for some in wishes for wish in some]))
    found = []
    for (exercise, seed, answer), some, verdict in zip(asked, wishes, verdicts, strict=True):
        *_, (_, text) = islice(texts, len(some))
        said = differences(verdict, text)
        found += [f"{exercise.id} {seed} {str(answer)[:80]!r}: {says}" for says in said]
    return found


def main(folder: str, seeds: str = "10") -> int:
    """Compare, and print what differs."""
    settings = Settings()
    catalog = read_course(settings)
    began = perf_counter()
    asked = {
        exercise.id: [one for seed in range(int(seeds)) for one in cases(exercise, seed)]
        for exercise in catalog.exercises
    }
    count = sum(map(len, asked.values()))
    verdicts = iter(asyncio.run(graded(settings, [one for own in asked.values() for one in own])))
    wrong: list[str] = []
    sys.stdout.write(f"{count} verdicts of the server in {perf_counter() - began:.0f} s\n")
    with sync_playwright() as play, served(Path(folder)) as base:
        page = launch(play).new_page()
        page.goto(f"{base}server/")
        for number, (name, own) in enumerate(asked.items(), 1):
            found = compared(page, base, own, list(islice(verdicts, len(own))))
            wrong += found
            sys.stdout.write("".join(f"{says}\n" for says in found))
            sys.stdout.write(f"{number}/{len(asked)} {name}: {len(wrong)} differ\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} in {perf_counter() - began:.0f} s, {len(wrong)} differences\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
