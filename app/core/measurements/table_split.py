"""The tests in one table: another operation, type or root, and sizes that come again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.core.measurements.table import CollectiveTable, RawRow

_MOST_TESTS = 32  # of one table
Key = tuple[str, str, int | None, int]


def tests_in(table: CollectiveTable) -> Iterator[CollectiveTable]:
    """*table*, or the tests of which it has rows, each with a doubt that says so.

    A line that was printed twice is one row. Where a size comes again, as with several cycles or
    two runs side by side, its second row is of the second test.
    """
    parts: dict[Key, list[RawRow]] = {}
    seen: dict[Key, int] = {}
    once: set[RawRow] = set()
    for row in table.rows:
        kind = (row.type, row.redop, row.root)
        if row in once:
            continue
        once |= {row} if row.size else set()  # the first sizes are often rounded to 0, all of them
        count = seen.get((*kind, row.size), 0) + 1 if row.size else 1
        seen[(*kind, row.size)] = count
        parts.setdefault((*kind, count), []).append(row)
    if len(parts) == 1:
        table.rows = next(iter(parts.values()))
        yield table
        return
    kinds = {key[:3] for key in parts}
    for number, (key, rows) in enumerate(parts.items(), 1):
        if number <= _MOST_TESTS:
            yield _part(table, rows, [_about(number, len(parts), key, kinds)])


def _part(table: CollectiveTable, rows: Sequence[RawRow], doubts: list[str]) -> CollectiveTable:
    """The test with these *rows*: the average of all of them is not its own."""
    return replace(table, rows=list(rows), average=None, doubts=[*table.doubts, *doubts])


def _about(number: int, count: int, key: Key, kinds: set[tuple[str, str, int | None]]) -> str:
    kind, redop, root, again = key
    what = [
        kind if len({one[0] for one in kinds}) > 1 else "",
        redop if len({one[1] for one in kinds}) > 1 else "",
        f"root {root}" if len({one[2] for one in kinds}) > 1 else "",
        f"repetition {again} of its sizes" if again > 1 else "",
    ]
    named = ", ".join(filter(None, what)) or "repetition 1 of its sizes"
    left_out = f"; those after {_MOST_TESTS} are left out" if count > _MOST_TESTS else ""
    return f"test {number} of {count} in one table, told by its rows: {named}{left_out}"


def doubt_mixed_tables(tables: Sequence[CollectiveTable]) -> None:
    """Add a doubt to those of *tables* between whose lines those of others stand."""
    for before, table in zip(tables, tables[1:], strict=False):
        if table.listed and 0 not in table.listed:
            for one in (before, table):
                one.doubts.append("its ranks are listed on both sides of rows: lines are mixed")
    titled, ended = (any(getattr(one, name) for one in tables) for name in ("titled", "ended"))
    for table in tables[1:]:
        if titled and not table.titled:
            table.doubts.append("no title stands above these rows, as above others: mixed lines")
    for table in tables[:-1]:
        if ended and not table.ended:
            table.doubts.append("no summary stands below these rows, as below others: mixed lines")
