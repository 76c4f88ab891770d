"""The options of commands that operators need."""

from argparse import ArgumentParser
from collections.abc import Callable

Add = Callable[[str, str], ArgumentParser]


def add_operations(command: Add) -> None:
    """`wallclock backup`, `restore` and `move`."""
    backup = command("backup", "copy the database and lab runs, even while they are in use")
    backup.add_argument("file", metavar="FILE", help="the file to write; it must not exist")
    restore = command("restore", "put a backup into the database")
    restore.add_argument("file", metavar="FILE", help="a file that `wallclock backup` wrote")
    restore.add_argument(
        "--replace", action="store_true", help="delete the rows that the database has now"
    )
    restore.add_argument(
        "--sign-out", action="store_true",
        help="forget the secret that signs cookies: learners without an account start over",
    )  # fmt: skip
    move = command("move", "copy everything to another database, such as PostgreSQL")
    move.add_argument(
        "url", metavar="URL", help="as in WALLCLOCK_DATABASE, such as postgresql+psycopg://..."
    )


def add_sandbox(command: Add) -> None:
    """`wallclock sandbox`."""
    parser = command("sandbox", "run programs for web servers that are apart")
    parser.add_argument(
        "--host", help="address to listen on (default: WALLCLOCK_HOST or 127.0.0.1)"
    )
    parser.add_argument("--port", type=int, default=8100, help="0: any free port (default: 8100)")
    parser.add_argument("--uds", metavar="PATH", help="listen at a Unix socket instead")


def add_grade(command: Add) -> None:
    """`wallclock grade`, and `merge` for its shards."""
    grade = command("grade", "grade a file of answers offline")
    grade.add_argument(
        "file", metavar="FILE.jsonl", help="one JSON object per line; -: standard input"
    )
    grade.add_argument(
        "--shard", metavar="I/N", help="only the shard I of N, counted from 1, such as 3/8"
    )
    grade.add_argument("--processes", type=_positive, metavar="P", help="default: one per core")
    merge = command("merge", "merge the shards that `grade --shard` wrote, if none is missing")
    merge.add_argument("part", nargs="+", metavar="PART.jsonl", help="a graded shard")
    for action in (grade, merge):
        action.add_argument(
            "-o", "--output", metavar="OUT.jsonl", default="-", help="default: standard output"
        )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
