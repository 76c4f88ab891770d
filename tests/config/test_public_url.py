"""The public URL of the site: read, or refused with a sentence that says what is expected."""

import pytest
from pydantic import ValidationError

from app.server.config import Settings
from tests.each import each


@each(
    ("given", "url", "prefix"),
    [
        ("", "", ""),
        ("/", "", ""),
        ("https://example.org", "https://example.org", ""),
        ("https://example.org/", "https://example.org", ""),
        ("https://example.org/wallclock/", "https://example.org/wallclock", "/wallclock"),
        ("http://localhost:8000/a/b.c", "http://localhost:8000/a/b.c", "/a/b.c"),
        ("https://Example.org:443/W", "https://example.org/W", "/W"),
        ("http://[::1]:8000", "http://[::1]:8000", ""),
        ("https://[2001:db8::7]/w", "https://[2001:db8::7]/w", "/w"),
    ],
)
def test_a_url_is_read(given: str, url: str, prefix: str) -> None:
    settings = Settings(url=given)
    assert (settings.url, settings.prefix) == (url, prefix)


@each(
    ("given", "says"),
    [
        ("wallclock.example.org", "it must begin with https:// or http://"),
        ("ftp://example.org", "it must begin with https://"),
        ("https://", "it must begin with https://"),
        ("https:///wallclock", "it needs a host"),
        ("https://me:pw@example.org", "it needs a host, perhaps a port, and no more"),
        ("https://example.org:99999", "is not a URL"),
        ("https://example.org:x", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("https://example.org?x=1", "it ends before '?'"),
        ("https://example.org/?x=1", "it ends before '?'"),
        ("https://example.org/a#b", "it ends before '?'"),
        ("https://example.org/a b", "a path prefix has letters"),
        ("https://example.org/a//b", "a path prefix has letters"),
        ("https://example.org/../b", "a path prefix has letters"),
        ('https://example.org/"onload=', "a path prefix has letters"),
        ("https://example.org/%2e", "a path prefix has letters"),
    ],
)
def test_a_wrong_url_is_refused_with_an_example(given: str, says: str) -> None:
    with pytest.raises(ValidationError, match="such as") as refused:
        Settings(url=given)
    assert says in str(refused.value)


def test_the_former_name_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLCLOCK_ADDRESS", "https://example.org/w")
    assert Settings().url == "https://example.org/w"
    monkeypatch.setenv("WALLCLOCK_URL", "https://example.org/w/")
    assert Settings().url == "https://example.org/w"
    monkeypatch.setenv("WALLCLOCK_URL", "https://other.example")
    with pytest.raises(ValidationError, match="remove WALLCLOCK_ADDRESS"):
        Settings()


def test_a_prefix_without_a_host() -> None:
    assert Settings(root_path="wallclock/").prefix == "/wallclock"
    assert Settings(root_path="/w", url="https://example.org/w").prefix == "/w"
    with pytest.raises(ValidationError, match="remove one"):
        Settings(root_path="/w", url="https://example.org")
