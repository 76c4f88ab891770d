"""Addresses of the site in a text, rewritten for wherever the exported files lie."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from app.exporting.omissions import without_unserved

# An attribute of HTML whose value is an address of the site: one slash, then a path or nothing.
_ATTRIBUTE = re.compile(
    r"""(?P<before>\s(?:href|src|action|formaction|poster|data-[\w-]+)=")(?P<address>/(?!/)[^"]*)"""
)
_PARTS = re.compile(r"(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
_ANOTHER = "/another"  # a new drawing, of which the page itself draws the number
# What the worker answers, though no such page exists.
_ANSWERED = re.compile(
    r"/(?:explore/(?:fit/better|[^/]+)/\d+\.(?:svg|csv)|progress/(?:export|import|delete)"
    r"|map/(?:known|start))"
)
# Pages that are as they were exported, whatever is asked of them; and where a server takes runs.
_FIXED = re.compile(r"/labs(?:/[^/]+(?:/board)?)?\?.*|/labs/[^/]+/board#add")
_FILES = ("/static/", "/course/", "/images/")


@dataclass(frozen=True, slots=True)
class Known:
    """What there is of the site without a server: its *pages*; *server* is that about the rest."""

    pages: Collection[str]
    server: str

    def placed(self, address: str) -> str:
        """*address* as static hosts serve it: a page is a folder; what there is not, is *server*.

        >>> known = Known({"/errata"}, "/server")
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

        >>> Known({"/errata"}, "/server").rebased('<a href="/errata">', "/course/")
        '<a href="/course/errata/">'
        """

        def write(address: str) -> str:
            return base + self.placed(address)[1:]

        if text.startswith("/"):
            return write(text)
        return rewritten(without_unserved(text, self.serves), write)


def rewritten(html: str, write: Callable[[str], str]) -> str:
    """*html* in which *write* has written each address of the site.

    >>> rewritten('<a href="/errata?x=1#a">', lambda address: ".." + address)
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
