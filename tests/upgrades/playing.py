"""What a visitor and a class do with a server, of any version: what it lacks is left out."""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.upgrades.server import Browser, Installation, Program

RING = "collectives/ring-all-reduce-time"
LATE = "collectives/steps-of-a-ring"
CHOICE = "collectives/who-waits-for-whom"
EXAM = "collectives/latency-equals-bandwidth"
HOUR = timedelta(hours=1)
NCCL_TESTS = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    31.25   33.55   58.72      0    31.25   33.55   58.72      0
    16777216       4194304     float     sum      -1   118.80  141.22  247.14      0   118.80  141.22  247.14      0
   268435456      67108864     float     sum      -1   1516.4  177.02  309.79      0   1516.4  177.02  309.79      0
"""


def play_visitor(installation: Installation, browser: Browser) -> None:
    """Answer each exercise, wrong and then right, and use all else that needs no name."""
    labs = {one["id"] for one in browser.list("/api/v1/exercises") if one["kind"] == "lab"}
    answers: dict[str, list[Mapping[str, object]]] = defaultdict(list)
    for row in installation.answers(0):
        answers[str(row["exercise"])].append(row)
    for number, (exercise, rows) in enumerate(answers.items()):
        if number % 10 == 3:
            browser.answer(exercise, 0, "", action="hint")
        if number % 40 == 7:
            browser.answer(exercise, 0, "", action="solution")
        for row in _wrong_and_right(rows):
            if exercise in labs:  # the first prediction stays
                browser.answer(exercise, 0, row["answer"], action="predict")
            browser.answer(exercise, 0, row["answer"])
    run = next((installation.code / "app/labs/recorded").glob("*-ring-bytes-*.json"))  # none that is disturbed
    browser.post("/labs/ring-bytes/board", run=run.read_text(encoding="utf-8"))
    _play_later_pages(installation, browser)


def _wrong_and_right(rows: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    wrong = [row for row in rows if row["expect"] == "incorrect"][:1]
    return [*wrong, *(row for row in rows if row["expect"] == "correct")][:2]


def _play_later_pages(installation: Installation, browser: Browser) -> None:
    """Use the pages that came after 0.1.0, where there are such."""
    web = installation.code / "app" / "site" / "web"
    if (web / "daily").is_dir():
        (day,) = set(re.findall(r'action="(/guess/[\d-]+)"', browser.get("/guess")))
        browser.post(day, guess="1")
    if (web / "measured" / "saved.py").is_file():
        page = browser.post("/measured", text=NCCL_TESTS, hardware="", ranks="8")
        seal = re.search(r'name="seal" value="([^"]+)"', page)
        assert seal, "the measurement was not read"
        browser.post("/measured/save", seal=seal[1], title="Our eight GPUs")
    if (web / "course" / "placement.py").is_file():
        known = "/map/known" if (web / "course" / "map.py").is_file() else "/progress/known"
        browser.post(known, chapter=["collectives", "memory"])
        first = browser.begin("/placement/begin")
        browser.post(first, action="skip")


def play_program(program: Program) -> None:
    """Check an answer over HTTP, and again as after a lost reply."""
    body = {"exercise": RING, "seed": 7, "answer": "70 ms"}
    for _ in range(2):
        program.post("/check", body, **{"Idempotency-Key": "the-same-request"})


class PlayedClass:
    """A class of three: one is late, one has an extension and uses a hint, one gets points by hand."""

    NAMES = ("Ada", "Bo", "Cy")

    def __init__(self, installation: Installation, url: str, program: Program) -> None:
        self._installation, self._url, self._program = installation, url, program
        made = program.post("/classes", {"name": "Systems", "zone": "Europe/Berlin"})
        self.number, self.teacher_code = int(str(made["id"])), str(made["code"])
        self._join = str(made["join"]).rpartition("/")[2]
        self.students = [self._student(name) for name in self.NAMES]

    def _student(self, name: str) -> Browser:
        browser = Browser(self._url)
        form = re.search(r'name="form" value="([^"]+)"', browser.get(f"/join/{self._join}"))
        assert form, "nobody can join"
        browser.post(f"/join/{self._join}", name=name, form=form[1])
        return browser

    def play(self) -> None:
        """Give two assignments and an exam, and answer them."""
        due = datetime.now(UTC) - HOUR
        self._assign("Late", [LATE], due=due.isoformat(), late=0.25)
        self._assign("By hand", [RING, CHOICE], hints="cost", hint_cost=0.1)
        self._assign("Exam", [EXAM], sitting=30)
        for student in self.students[:2]:
            student.post("/assignments/3/begin")
        late, by_hand = (f"/classes/{self.number}/assignments/{n}" for n in (1, 2))
        extended = {"people": ["3"], "until": (due + 48 * HOUR).isoformat(), "why": "ill"}
        self._program.post(f"{late}/extensions", extended)
        for number in (1, 2, 3):
            self._answer(number)
        given = {"people": ["4"], "exercise": RING, "points": 1.5, "why": "right on paper"}
        self._program.post(f"{by_hand}/overrides", given)

    def _assign(self, title: str, exercises: Sequence[str], **policy: object) -> None:
        entries = [{"exercise": name, "points": 2} for name in exercises]
        body = {"title": title, "exercises": entries, **policy}
        self._program.post(f"/classes/{self.number}/assignments", body)

    def _answer(self, assignment: int) -> None:
        address = f"/classes/{self.number}/assignments/{assignment}/variants"
        ada, bo, _ = self._program.list(address)
        for variants, browser, tries in ((ada, self.students[0], 1), (bo, self.students[1], 2)):
            for exercise, seed in variants["seeds"].items():
                rows = list(self._installation.answers(seed, [exercise]))
                if tries == 2 and assignment == 2:
                    browser.answer(exercise, seed, "", action="hint")
                for row in _wrong_and_right(rows)[-tries:]:
                    browser.answer(exercise, seed, row["answer"])

    def carry(self, progress: str) -> None:
        """Let a student import a file of *progress*: it counts in no class."""
        self.students[0].upload("/progress/import", progress)

    def connect(self, database: Path) -> None:
        """Add what only a learning platform causes, as rows."""
        self._installation.command(
            "platform", "add", "Campus", "--moodle", "https://moodle.example.org",
            "--client", "client", "--deployment", "1",
        )  # fmt: skip
        with closing(sqlite3.connect(database)) as rows, rows:
            for table, row in _PLATFORM:
                names, places = ", ".join(row), ", ".join("?" * len(row))
                statement = f"INSERT INTO {table} ({names}) VALUES ({places})"
                rows.execute(statement, tuple(row.values()))
            rows.execute(_REGRADE)

    def grades(self) -> object:
        """The points of everyone."""
        return json.loads(self._installation.command("grades", str(self.number), "--json"))


_THEN = "2026-11-23 08:00:00.000000"
_MOODLE = "https://moodle.example.org"
_PLATFORM: Sequence[tuple[str, Mapping[str, object]]] = (
    (
        "context",
        {"platform": 1, "deployment": "1", "context": "course", "class_id": 1, "title": "Systems",
         "memberships_url": f"{_MOODLE}/members"},
    ),
    (
        "link",
        {"id": 1, "platform": 1, "deployment": "1", "resource_link": "link", "assignment": 1,
         "lineitem_url": f"{_MOODLE}/item", "lineitems_url": f"{_MOODLE}/items",
         "item_digest": "told"},
    ),
    ("identity", {"issuer": "lti:1", "subject": "ada", "person": 2, "seen": _THEN}),
    (
        "outbox",
        {"link": 1, "person": 2, "subject": "ada", "points": 0.75, "sent_points": 0.75,
         "sent_at": _THEN, "tries": 0, "next": None, "said": ""},
    ),
    ("nonce", {"digest": "used", "until": _THEN}),
    ("registration", {"digest": "link", "name": "Another", "until": _THEN}),
    (
        "tool_key",
        {"id": 99, "kid": "retired", "private": "{}", "made": _THEN, "signs_from": _THEN,
         "retired": _THEN},
    ),
)  # fmt: skip
_REGRADE = """
INSERT INTO regrade (attempt, digest, score, correct, at)
SELECT max(attempt.id), 'judged again', 1.0, 1, '2026-11-23 08:00:00.000000'
FROM attempt JOIN person ON person.learner = attempt.learner WHERE person.id = 3
"""
