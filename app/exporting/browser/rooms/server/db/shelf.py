"""The records of a browser's learner, in memory: `LearnerRecords`, as a server has them."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

from app.server.db import history
from app.server.db.records import MergeResult, PersonalRows
from app.server.db.tables import KINDS, Attempt, KnownChapter, Row, read_row

_LATEST = 20  # attempts
_CHOICE = "choice"


class Shelf:
    """The rows of this browser's learner, as they came; *keep* stores a kind and a text, *clear* removes all."""

    def __init__(self, keep: Callable[[str, str], None], clear: Callable[[], None]) -> None:
        self.rows: dict[str, list[Any]] = {name: [] for name in KINDS}
        self.choices: dict[str, str] = {}  # what a server's visitors have in cookies
        self._keep = keep
        self._clear = clear

    def load(self, stored: list[tuple[str, str]]) -> None:
        """Take the rows that the browser has *stored*, and no others."""
        for rows in self.rows.values():
            rows.clear()
        self.choices.clear()
        for kind, text in stored:
            if kind == _CHOICE:
                self.choices |= json.loads(text)
            else:
                self.rows[kind].append(read_row(kind, text))

    def choose(self, choices: Mapping[str, str]) -> None:
        """Store the *choices* of the learner, by name; the last of a name counts."""
        if {**self.choices, **choices} != self.choices:
            self.choices |= choices
            self._keep(_CHOICE, json.dumps(choices))

    def add(self, row: Row) -> None:
        """Add a row, unless a reveal or a prediction like it is there."""
        kind = next(name for name, one in KINDS.items() if type(row) is one)
        if kind != "attempts" and any(_same(row, other) for other in self.rows[kind]):
            return
        self.rows[kind].append(row)
        self._keep(kind, json.dumps(row.stored()))

    def history_at(self, at: history.LearnerDrawing) -> history.ExerciseHistory:
        """What the learner has done, as seen from a drawing."""
        own = [row for row in reversed(self._attempts()) if row.exercise == at.exercise]
        shown = tuple(history.LastAnswer.of(row) for row in own[: history.SHOWN])
        drawing = at.exercise, at.seed
        reveals = (r.number for r in self.rows["reveals"] if (r.exercise, r.seed) == drawing)
        numbers = set(reveals)
        return history.ExerciseHistory(
            seen=history.RevealedParts(len(numbers - {history.SOLUTION}), history.SOLUTION in numbers),
            last=history.LastAnswers(shown, frozenset(row.seed for row in own if row.correct)),
            known=self.standings(),
        )

    def standings(self) -> Mapping[str, history.Standing]:
        """The standing with every exercise tried, by id."""
        found: dict[str, history.Standing] = {}
        for row in self._attempts():
            before = found.get(row.exercise, history.Standing())
            own = row.correct and not row.revealed
            found[row.exercise] = history.Standing(
                before.tried + 1, before.solved or own, before.unaided or (own and not row.hints), row.at
            )
        return found

    def answers(self) -> Sequence[history.PastAnswer]:
        """Every answer, oldest first."""
        rows = [(row, row.correct and not row.revealed) for row in self._attempts()]
        return [history.PastAnswer(row.exercise, row.at, own, own and not row.hints) for row, own in rows]

    def known_chapters(self) -> frozenset[str]:
        """The chapters that the learner knows."""
        return frozenset(row.chapter for row in self.rows["known_chapters"])

    def mark_known(self, chapters: Collection[str]) -> None:
        """Let the learner know these *chapters*, and no others; what is stored is written again."""
        self.rows["known_chapters"] = [KnownChapter(chapter=name) for name in sorted(chapters)]
        self._clear()
        for name, rows in self.rows.items():
            for row in rows:
                self._keep(name, json.dumps(row.stored()))
        self._keep(_CHOICE, json.dumps(self.choices))

    def attempts_by_day(self, since: date) -> Mapping[date, int]:
        """The number of answers on each day from *since* on; a day begins at 00:00 UTC."""
        moment = datetime.combine(since, time(), UTC)
        rows = (row.at for row in self.rows["attempts"] if row.at >= moment)
        return Counter(at.astimezone(UTC).date() for at in rows)

    def efforts(self) -> Mapping[str, history.Effort]:
        """The effort on each exercise, by id."""
        longest: dict[tuple[str, int], float] = {}
        found: dict[str, history.Effort] = {}
        for row in self._attempts():
            key = row.exercise, row.seed
            if row.seconds is not None:
                longest[key] = max(longest.get(key, 0.0), row.seconds)
            other = found.get(row.exercise, history.Effort(0, 0, None))
            times = [time for (name, _), time in longest.items() if name == row.exercise]
            whole = sum(times) if times else None
            found[row.exercise] = history.Effort(other.answers + 1, other.right + row.correct, whole)
        return found

    def latest_attempts(self) -> Sequence[Attempt]:
        """The last attempts, newest first."""
        return list(reversed(self._attempts()))[:_LATEST]

    def wrong_attempts(self, limit: int) -> Sequence[Attempt]:
        """The last wrong answers, newest first."""
        return [row for row in reversed(self._attempts()) if not row.correct][:limit]

    def last_right_answers(self, exercises: Collection[str]) -> Mapping[str, Attempt]:
        """The last right answer to each of *exercises*, by id, before any solution."""
        own = (row for row in self._attempts() if row.correct and not row.revealed)
        return {row.exercise: row for row in own if row.exercise in exercises}

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction for a drawing, as JSON."""
        rows = self.rows["predictions"]
        found = (row.answer for row in rows if row.exercise == exercise and row.seed == seed)
        return next(found, None)

    def forget_prediction(self, exercise: str, seed: int, answer: str) -> None:
        """Remove a prediction of an exercise that has changed since."""
        rows, gone = self.rows["predictions"], (exercise, seed, answer)
        rows[:] = [row for row in rows if (row.exercise, row.seed, row.answer) != gone]

    def everything(self) -> Mapping[str, object]:
        """Everything stored, ready for JSON; a server reads it."""
        rows = {name: [row.stored() for row in self.rows[name]] for name in KINDS}
        return {"learner": "browser", **rows, "runs": []}

    def delete_everything(self) -> None:
        """Remove every row."""
        for rows in self.rows.values():
            rows.clear()
        self._clear()

    def merge(self, rows: PersonalRows) -> MergeResult:
        """Store those of *rows* that are not stored yet."""
        before = self._count()
        known = {_key(row) for row in self.rows["attempts"]}
        for row in rows.attempts:
            if _key(row) not in known:
                self.add(row)
        for name in ("reveals", "predictions", "guesses", "assessed", "known_chapters"):
            for other in getattr(rows, name):
                self.add(other)
        added = self._count() - before
        return MergeResult(added, rows.count - added)

    def _attempts(self) -> Sequence[Attempt]:
        return sorted(self.rows["attempts"], key=lambda row: row.at)

    def _count(self) -> int:
        return sum(map(len, self.rows.values()))


def _key(row: Attempt) -> tuple[object, ...]:
    return row.exercise, row.seed, row.at, row.answer


def _same(one: Row, other: Row) -> bool:
    """Whether both are about the same; the first one stays."""
    names = ("day", "exercise", "seed", "number", "assessment", "draw", "chapter")
    return all(getattr(one, name, None) == getattr(other, name, None) for name in names)
