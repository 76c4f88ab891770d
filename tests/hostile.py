"""Texts that a stranger may write anywhere, and what no answer may make of them."""

import re
from html.parser import HTMLParser

MARK = "evil.example"
TEXTS = {
    "link": f"[click](https://{MARK})",
    "link in quotation marks": f"'\"[click](https://{MARK} 'x')",
    "link by reference": f"[x]: https://{MARK}\n\n[x]",
    "address": f"<https://{MARK}>",
    "image": f"![x](https://{MARK}/x.png)",
    "mathematics": f"$x_{{\\text{{{MARK}}}}}$ and $$y_{{\\text{{{MARK}}}}}$$",
    "mathematics that is not closed": f"$x^{{$ $$\\frac{{1}}{{$ \\begin{{{MARK}}} $$",
    "HTML": f"\"'><img src=https://{MARK} onerror=alert(1)><script>alert(1)</script>",
    "entity": f"&lt;a href=https://{MARK}&gt;",
    "one backtick": f"a ` [b](https://{MARK}) `c",
    "three backticks": f"```\n![x](https://{MARK})\n```",
    "many backticks": f"{'`' * 400} ![x](https://{MARK}) {'`' * 399}",
    "table": f"| a |\n|---|\n| [b](https://{MARK}) |",
    "heading": f"# a\n- [b](https://{MARK})\n1. $x^{{$",
    "backslashes": f"\\[a](https://{MARK}) \\$x^{{\\$ \\",
    "bidi": f"\u202e\u2066{MARK}\u200b\u2028[a](https://{MARK})",
    "control": f"\0\x1b[31m\r\n\x7f{MARK}",
    "half a pair": f"\ud800{MARK}",
    "forms of other languages": f"; did you mean '{MARK}'?; " * 20,
    "names of other languages": f"no formula is called '{MARK}'; did you mean x?: ",
    "braces": "{0} {name!r} {{7*7}} %(name)s %s",
    "long": f"[x](https://{MARK})" * 400,
    "long word": "x" * 10_000,
    "long name": "_" + "x" * 9_999,
    "spaces": " " * 5_000 + "\n" * 5_000,
    "figures": "9" * 10_000,
    "brackets": "[" * 5_000 + "](" * 2_000,
}
LONGEST = 2_500  # characters of all that is said of an answer
_ELSEWHERE = re.compile(rf"\s*(?:(?:https?:)?//{re.escape(MARK)}|javascript:|data:)")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u2028\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class _Reader(HTMLParser):
    """What a page has become by the words of a stranger."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = [*self.inside[-20:], tag]
        for name, value in attrs:
            if name.startswith("on") or (name in ("href", "src", "action", "srcset") and _ELSEWHERE.match(value or "")):
                self.found.append(f"<{tag} {name}={value}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, text: str) -> None:
        tag = self.inside[-1] if self.inside else ""
        if MARK in text and {"math", "script", "style"} & set(self.inside):
            self.found.append(f"<{tag}>{text}")
        if "textarea" not in self.inside and (unseen := _UNSEEN.search(text)):
            self.found.append(f"<{tag}> with {unseen[0]!a}")


def troubles(html: str) -> list[str]:
    """What *html* made of one of the texts: a link, an image, mathematics, markup, or a sign that
    cannot be seen and stands outside the fields of a form."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.found
