"""The options of commands for those who run a server or write a course pack."""

from argparse import ArgumentParser


def add_doctor(parser: ArgumentParser) -> None:
    """The options of `wallclock doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_pack(parser: ArgumentParser) -> None:
    """The options of `wallclock pack`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the packs of this server")
    check = actions.add_parser(
        "check",
        help="check a pack: its pack.yaml, formulas, images and every exercise",
        description="Check a course pack. Its formulas are Python, which runs only with "
        "--load-formulas: read what others wrote before you use it.",
    )
    check.add_argument("folder", metavar="FOLDER", help="the folder that has the pack.yaml")
    check.add_argument(
        "--load-formulas", action="store_true", help="run the pack's Python, and prove its formulas"
    )
    check.add_argument(
        "--against", metavar="FOLDER", help="an earlier version of it, to list what changed"
    )
    for action in (listing, check):
        action.add_argument("--json", action="store_true", help="print JSON")


def add_new(parser: ArgumentParser) -> None:
    """The options of `wallclock new`."""
    parser.add_argument(
        "kind", metavar="KIND", help="the kind: numeric, choice, function, ...; or pack"
    )
    parser.add_argument(
        "name",
        metavar="TOPIC/SLUG",
        help="the chapter and the name, such as collectives/my-exercise; of a pack, its name",
    )
    parser.add_argument(
        "--into",
        metavar="DIR",
        help="the folder of chapters (default: ./exercises), or of the pack",
    )
    parser.add_argument(
        "--formulas", action="store_true", help="with pack: also write a formula of its own"
    )


def add_moodle(parser: ArgumentParser) -> None:
    """The options of `wallclock moodle`."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--chapter", default="", metavar="NAME", help="the exercises of a chapter")
    parser.add_argument(
        "--seeds",
        default="0..4",
        metavar="A..B",
        help="drawings of each, inclusive (default: 0..4)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.xml", default="-", help="default: standard output"
    )
