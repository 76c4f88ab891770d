"""Addresses of the site in a text, written anew for wherever the exported files lie."""

import re
from collections.abc import Callable

# An attribute of HTML whose value is an address of the site: one slash, then a path or nothing.
_ATTRIBUTE = re.compile(
    r"""(?P<before>\s(?:href|src|action|formaction|poster|data-[\w-]+)=")(?P<address>/(?!/)[^"]*)"""
)
_PARTS = re.compile(r"(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL)
_FILE = re.compile(r"\.[a-z0-9]+$")


def rewritten(html: str, write: Callable[[str], str]) -> str:
    """*html* in which *write* has written each address of the site.

    >>> rewritten('<a href="/errata?x=1#a">', lambda address: ".." + address)
    '<a href="../errata?x=1#a">'
    """
    return _ATTRIBUTE.sub(lambda match: match["before"] + write(match["address"]), html)


def file_path(address: str) -> str:
    """*address* with its path as static hosts serve it: a page is a folder.

    >>> file_path("/errata?x=1"), file_path("/"), file_path("/static/app.1a.css")
    ('/errata/?x=1', '/', '/static/app.1a.css')
    """
    match = _PARTS.fullmatch(address)
    path, rest = (match["path"], match["rest"]) if match else (address, "")
    is_page = not _FILE.search(path.rpartition("/")[2]) or path.startswith("/formulas/")
    return f"{path.rstrip('/')}/{rest}" if is_page else address


def rebased(text: str, base: str) -> str:
    """*text*, which is HTML or one address, for a course under the path *base*.

    >>> rebased('<a href="/errata">', "/course/"), rebased("/errata?x=1", "/course/")
    ('<a href="/course/errata/">', '/course/errata/?x=1')
    """

    def write(address: str) -> str:
        return base + file_path(address)[1:]

    return write(text) if text.startswith("/") else rewritten(text, write)
