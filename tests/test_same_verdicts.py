"""The browser, the interface and the file say the same."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.__main__ import main
from app.course.kinds import Answer, Exercise
from app.course.kinds.choice import LabExercise
from app.course.kinds.numeric import Numeric
from app.site import Site
from app.site.markdown import html


def answers(exercise: Exercise, seed: int) -> list[object]:
    wrong = [answer for answer, _ in list(exercise.mistakes(seed))[:2]]
    right = exercise.right_answer(seed)
    return [right, *wrong, *([worked_out(right)] if isinstance(exercise, Numeric) else [])]


def worked_out(answer: Answer) -> Answer:
    """The same numbers as arithmetic: 2 * 70 ms / 2."""
    if isinstance(answer, dict):
        return {name: f"2 * {text} / 2" for name, text in answer.items()}
    return f"2 * {answer} / 2"


def form(exercise: Exercise, answer: object) -> dict[str, object]:
    if isinstance(answer, dict):
        return {f"answer.{name}": value for name, value in answer.items()}
    return {"answer": answer}


@pytest.mark.slow(60)
@pytest.mark.sweep
def test_three_ways_lead_to_the_same_verdict(
    client: TestClient, bearer: dict[str, str], site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{tmp_path / 'w.db'}")
    asked = [
        (exercise, seed, answer)
        for exercise in site.catalog.exercises
        for seed in (0, 9)
        for answer in answers(exercise, seed)
    ]
    rows = [{"exercise": e.id, "seed": seed, "answer": answer} for e, seed, answer in asked]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["grade", str(file), "-o", str(tmp_path / "out.jsonl")]) == 0
    graded = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    for (exercise, seed, answer), row, offline in zip(asked, rows, graded, strict=True):
        online = client.post("/api/v1/check", json=row, headers=bearer).json()
        assert online == offline
        address, fields = f"/exercises/{exercise.id}?seed={seed}", form(exercise, answer)
        if isinstance(exercise, LabExercise):  # somebody else: the first prediction stays
            client.cookies.clear()
            client.post(address, data={**fields, "action": "predict"})
        page = client.post(address, data=fields, headers={"X-Fragment": "1"}).text
        assert all(html(sentence) in page for sentence in offline["feedback"])


LONG = "1" * 25_001
SAYS = "an answer has at most 20,000 characters"
TOO_LONG = [
    ("collectives/ring-all-reduce-time", LONG, "check"),
    ("collectives/write-ring-time", LONG, "check"),
    ("collectives/write-ring-time", LONG, "run"),
    ("collectives/steps-of-a-ring", [LONG], "check"),
    ("accumulation/a-step-in-parts", {"step": LONG}, "check"),
    ("memory/the-mildest-stage", {"stage": LONG}, "check"),
    ("diagnosis/technique-and-lever", {"dp": LONG}, "check"),
    ("collectives/count-the-ring", {"bytes": LONG}, "predict"),
]


@pytest.mark.parametrize(("exercise", "answer", "action"), TOO_LONG)
def test_an_answer_that_is_too_long_is_refused_alike_through_every_door(
    client: TestClient, bearer: dict[str, str], site: Site, tmp_path: Path, exercise: str, answer: object, action: str
) -> None:
    row = {"exercise": exercise, "seed": 0, "answer": answer}
    online = client.post("/api/v1/check", json=row, headers=bearer)
    assert (online.status_code, online.json()["detail"]) == (413, SAYS)
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps(row) + "\n")
    main(["grade", str(file), "-o", str(tmp_path / "out.jsonl")])
    assert json.loads((tmp_path / "out.jsonl").read_text())["error"] == SAYS
    fields = {**form(site.catalog.exercise(exercise), answer), "action": action}
    page = client.post(f"/exercises/{exercise}?seed=0", data=fields)
    assert page.status_code == 413
    assert f"A{SAYS[1:]}." in page.text
    assert client.get("/progress/export").json()["attempts"] == []
