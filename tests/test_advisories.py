"""`make advisories` says what it found, and never that it checked what it did not."""

from tools.advisories import CONSTRAINTS, Audit, audit_in, knows, report

ANSWER: dict[str, object] = {
    "dependencies": [
        {"name": "jinja2", "version": "2.10", "vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"]}]},
        {"name": "anyio", "version": "4.16.0", "vulns": []},
        {"name": "ours", "skip_reason": "not found on PyPI"},
    ],
    "fixes": [],
}


def test_an_advisory_is_a_line_and_an_exit_code() -> None:
    found = audit_in(ANSWER)
    said, code = report(found)
    assert said.splitlines() == [
        "jinja2 2.10: PYSEC-2019-217, corrected in 2.10.1",
        "2 packages checked, 1 advisories",
        "not checked: ours",
    ]
    assert code == 1
    assert knows(found)


def test_a_database_without_data_is_not_taken_for_a_clean_one() -> None:
    skipped = audit_in({"dependencies": [{"name": "jinja2", "skip_reason": "not found"}]})
    empty = audit_in({"dependencies": [{"name": "jinja2", "version": "2.10", "vulns": []}]})
    assert not any(map(knows, (None, skipped, empty)))
    assert report(None) == ("not checked: no database of advisories can be reached from here", 0)


def test_packages_without_advisories_are_counted() -> None:
    assert report(Audit(("anyio",), (), ())) == ("1 packages checked, 0 advisories", 0)
    assert "==" in CONSTRAINTS.read_text(encoding="utf-8")
