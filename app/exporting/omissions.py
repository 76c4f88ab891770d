"""What an export leaves out of a page, and addresses rewritten for wherever the exported files lie."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

_LINK = re.compile(r'<a\b[^>]*?\shref="(?P<address>/(?!/)[^"]*)"[^>]*>(?P<text>(?:(?!</a>).)*)</a>', re.DOTALL)
_FORM = re.compile(r"<form\b(?P<attributes>[^>]*)>.*?</form>\s*", re.DOTALL)
_SECTION = re.compile(r"<section\b(?:(?!</?section\b).)*</section>\s*", re.DOTALL)
_ACTION = re.compile(r'\saction="(/[^"]*)"')
_ALONE = re.compile(r'<a\b[^>]*(?:\sclass="(?:other|button)|\sdownload\b)')
_EMPTY = re.compile(r'<p(?: class="quiet")?>\s*</p>\s*|(?:<h2\b[^>]*>[^<]*</h2>\s*)?<dl\b[^>]*>\s*</dl>\s*')
_WINDOW = 800  # characters around a link that may belong to it


def _compiled(*around: tuple[str, str]) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple((re.compile(head), re.compile(tail, re.DOTALL)) for head, tail in around)


# What stands before and behind a link that goes with it: an entry of a list, or its separator.
_ENTRIES = _compiled(
    (r"<div>\s*<dt>\s*$", r"\s*</dt>\s*<dd>(?:(?!</dd>).)*</dd>\s*</div>\s*"),
    (r"<dt>\s*$", r"\s*</dt>\s*<dd>(?:(?!</dd>).)*</dd>\s*"),
    (r"<li>\s*$", r"\s*</li>\s*"),
    (r'<p(?: class="\w+")?>\s*$', r"\A\s*\.?\s*</p>\s*"),
    (r"\s·\s+$", ""),
    ("", r"\s*·\s+"),
)
_INLINE = r"(?:[^.。<>]|\.(?=\w)|</?(?:a|i|b|em|code)\b[^>]*>)*"
(_SENTENCE,) = _compiled((rf"(?:(?<=[.!。]\s)|(?<=[>。])){_INLINE}$", rf"\A{_INLINE}[.。]\s?"))
_SCRIPTED = "/theme"  # the form of the colors, which a script answers


def without_unserved(html: str, is_served: Callable[[str], bool], *, prose: bool = True) -> str:
    """*html* without what leads to addresses that are not served.

    A sentence goes with its links, if none of them is served. In documentation, which is not the
    *prose* of a page, its text stays.
    """

    def section(found: re.Match[str]) -> str:
        return found[0] if all(_is_form_served(form, is_served) for form in _FORM.finditer(found[0])) else ""

    html = _SECTION.sub(section, html)
    html = _FORM.sub(lambda found: found[0] if _is_form_served(found, is_served) else "", html)
    end = len(html)
    while found := _last(html, end):
        end = found.start()
        if not is_served(found["address"]):
            html = _without(html, found, is_served if prose else None)
            end = min(end, len(html))
    return _EMPTY.sub("", html)


def _is_form_served(form: re.Match[str], is_served: Callable[[str], bool]) -> bool:
    """Whether something answers a *form*; one without an address posts a file to its own page."""
    action = _ACTION.search(form["attributes"])
    if action is None:
        return 'method="post"' not in form["attributes"]
    sends = 'method="get"' in form["attributes"]  # its fields, in the address
    return action[1] == _SCRIPTED or is_served(f"{action[1]}?" if sends else action[1])


def _last(html: str, end: int) -> re.Match[str] | None:
    """The last link that begins before *end*."""
    start = html.rfind("<a ", 0, end)
    while start >= 0:
        if found := _LINK.match(html, start):
            return found
        start = html.rfind("<a ", 0, start)
    return None


def _without(html: str, link: re.Match[str], is_served: Callable[[str], bool] | None) -> str:
    """*html* without a *link*, and without what stands there because of it.

    A sentence stays if *is_served* is not given, or another of its links is served.
    """
    start, end = link.span()
    if _ALONE.match(link[0]):
        return html[:start] + html[end:]
    for head, tail in _ENTRIES:
        if place := _around(html, link, head, tail):
            return html[: place[0]] + html[place[1] :]
    if is_served and (place := _around(html, link, *_SENTENCE)):
        sentence = html[slice(*place)]
        if not any(is_served(one["address"]) for one in _LINK.finditer(sentence)):
            return html[: place[0]] + html[place[1] :]
    return html[:start] + link["text"] + html[end:]


def _around(html: str, link: re.Match[str], head: re.Pattern[str], tail: re.Pattern[str]) -> tuple[int, int] | None:
    """From where to where *head* matches before a *link*, and *tail* behind it."""
    start, end = link.span()
    last = tail.match(html[end : end + _WINDOW])
    first = head.search(html[max(0, start - _WINDOW) : start]) if last else None
    return (start - len(first[0]), end + last.end()) if first and last else None


# An attribute of HTML whose value is an address of the site: one slash, then a path or nothing.
_ATTRIBUTE = re.compile(
    r"""(?P<before>\s(?:href|src|action|formaction|poster|data-[\w-]+)=")(?P<address>/(?!/)[^"]*)"""
)
_PARTS = re.compile(r"(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
_ANOTHER = "/another"  # a new drawing, of which the page itself draws the number
# What the worker answers, though no such page exists.
_ANSWERED = re.compile(
    r"/(?:explore/[^/]+/\d+\.(?:svg|csv)|progress/(?:export|import|known|delete)"
    r"|route)"
)
# Pages that are as they were exported, whatever is asked of them.
_FIXED = re.compile(r"/labs(?:/[^/]+)?\?.*")
_FILES = ("/static/", "/course/", "/images/")


@dataclass(frozen=True, slots=True)
class ExportedPages:
    """What there is of the site without a server: its *pages*; *server* is that about the rest."""

    pages: Collection[str]
    server: str

    def placed(self, address: str) -> str:
        """*address* as static hosts serve it: a page is a folder; what there is not, is *server*.

        >>> known = ExportedPages({"/errata"}, "/server")
        >>> known.placed("/errata?x=1"), known.placed("/classes"), known.placed("/static/app.js")
        ('/errata/?x=1', '/server/', '/static/app.js')
        """
        match = _PARTS.fullmatch(address)
        path, rest = (match["path"], match["rest"]) if match else (address, "")
        if path.startswith(_FILES) or _ANSWERED.fullmatch(path):
            return address
        if path.endswith(_ANOTHER) and path.removesuffix(_ANOTHER) in self.pages:
            return f"{file_path(path.removesuffix(_ANOTHER))}?seed=another"
        return file_path(path) + rest if path in self.pages else file_path(self.server)

    def serves(self, address: str) -> bool:
        """Whether an export has what is at *address*."""
        is_there = self.placed(address) != file_path(self.server) or address == self.server
        return is_there and not _FIXED.fullmatch(address)

    def rebased(self, text: str, base: str) -> str:
        """*text*, which is HTML or one address, for a course under the path *base*.

        >>> ExportedPages({"/errata"}, "/server").rebased('<a href="/errata">', "/course/")
        '<a href="/course/errata/">'
        """

        def write(address: str) -> str:
            return base + self.placed(address)[1:]

        if text.startswith("/"):
            return write(text)
        return rewrite_addresses(without_unserved(text, self.serves), write)


def rewrite_addresses(html: str, write: Callable[[str], str]) -> str:
    """*html* in which *write* has written each address of the site.

    >>> rewrite_addresses('<a href="/errata?x=1#a">', lambda address: ".." + address)
    '<a href="../errata?x=1#a">'
    """
    return _ATTRIBUTE.sub(lambda match: match["before"] + write(match["address"]), html)


def addresses_in(html: str) -> Iterator[str]:
    """Each address of the site in *html*.

    >>> list(addresses_in('<a href="/errata"><a href="https://a.example">'))
    ['/errata']
    """
    return (match["address"] for match in _ATTRIBUTE.finditer(html))


def file_path(page: str) -> str:
    """The folder of the page at the path *page*.

    >>> file_path("/errata"), file_path("/")
    ('/errata/', '/')
    """
    return f"{page.rstrip('/')}/"
