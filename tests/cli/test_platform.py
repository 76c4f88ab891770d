import json
from pathlib import Path

import pytest

from app.__main__ import main

MOODLE = ["platform", "add", "Our Moodle", "--moodle", "https://moodle.example.org/", "--client", "abc"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLCLOCK_DATABASE", f"sqlite:///{tmp_path / 'wallclock.db'}")
    monkeypatch.setenv("WALLCLOCK_URL", "https://wallclock.example")


def failed(capsys: Capture, *given: str) -> str:
    capsys.readouterr()
    assert main(list(given)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_platform_is_added_listed_allowed_and_removed(capsys: Capture) -> None:
    assert main([*MOODLE, "--deployment", "1"]) == 0
    assert "https://wallclock.example/lti/launch" in capsys.readouterr().out
    assert main(["platform", "allow", "Our Moodle", "2"]) == 0
    assert "may launch: 1, 2" in capsys.readouterr().err
    assert main(["platform", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["issuer"], row["deployments"]) == ("https://moodle.example.org", ["1", "2"])
    assert row["jwks_url"] == "https://moodle.example.org/mod/lti/certs.php"
    assert "already exists" in failed(capsys, *MOODLE)
    assert main(["platform", "remove", "Our Moodle"]) == 0
    assert main(["platform", "list"]) == 0
    assert capsys.readouterr().out == ""


def test_what_is_missing_or_wrong_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    one = ["platform", "add", "X", "--client", "c", "--issuer", "https://x.example"]
    assert "--auth-url, --token-url, --jwks-url are missing" in failed(capsys, *one)
    urls = ["--auth-url", "https://x.example/a", "--token-url", "https://x.example/t"]
    assert "must begin with https://" in failed(capsys, *one, *urls, "--jwks-url", "http://x.example/k")
    main(MOODLE)
    assert "did you mean 'Our Moodle'?" in failed(capsys, "platform", "test", "Our Modle")
    monkeypatch.setenv("WALLCLOCK_URL", "")
    assert "set WALLCLOCK_URL" in failed(capsys, "platform", "link", "Canvas")


def test_a_registration_link_is_printed_once(capsys: Capture) -> None:
    assert main(["platform", "link", "Canvas"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("https://wallclock.example/lti/register?code=")
    assert "wallclock platform allow 'Canvas'" in told.err


def test_a_platform_that_does_not_answer_fails_its_test(capsys: Capture) -> None:
    main([*MOODLE[:4], "https://127.0.0.1:1", *MOODLE[5:]])
    capsys.readouterr()
    assert main(["platform", "test", "Our Moodle", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in rows][:2] == ["keys", "token for lineitem"]
    assert all("has the private address 127.0.0.1" in row["says"] for row in rows)


def test_a_platform_says_what_may_launch_and_where_its_addresses_are_from(capsys: Capture) -> None:
    assert main([*MOODLE]) == 0
    told = capsys.readouterr()
    assert told.out == (
        "Our Moodle is registered. In the platform, enter:\n"
        "  tool, redirect and deep linking URL  https://wallclock.example/lti/launch\n"
        "  login URL                            https://wallclock.example/lti/login\n"
        "  public key set URL                   https://wallclock.example/lti/jwks\n"
    )
    assert "No deployment may launch yet" in told.err
    assert main(["platform", "list"]) == 0
    assert capsys.readouterr().out == "Our Moodle\thttps://moodle.example.org\tabc\tactive\tdeployments: none\n"
    assert main(["platform", "allow", "Our Moodle"]) == 0
    assert capsys.readouterr().err == "Our Moodle is active; deployments that may launch: none.\n"
    assert main(["platform", "add", "Our Canvas", "--canvas", "--client", "1", "--deployment", "7"]) == 0
    assert "No deployment" not in capsys.readouterr().err
    assert main(["platform", "list", "--json"]) == 0
    canvas = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "Our Canvas")
    assert canvas["issuer"] == "https://canvas.instructure.com"
    assert "already exists" in failed(capsys, "platform", "link", "Our Canvas")
    one = [
        "platform",
        "add",
        "X",
        "--client",
        "c",
        "--issuer",
        "https://x.example",
        "--auth-url",
        "https://x.example/a",
    ]
    assert "--jwks-url is missing" in failed(capsys, *one, "--token-url", "https://x.example/t")
