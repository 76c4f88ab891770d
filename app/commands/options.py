"""The options of commands that calculate."""

from argparse import ArgumentParser

from app.translation import LANGUAGES

_ADD = (
    "Register a learning platform (LMS) with the values that it shows for the tool. Of a Moodle, "
    "the address and the client ID are enough; of Canvas, the client ID is."
)


def add_schedule(parser: ArgumentParser) -> None:
    """The options of `wallclock schedule`."""
    parser.add_argument(
        "name", help="naive, gpipe, 1f1b, interleaved, zb_h1, zb_h2, zb_v, dualpipe or dualpipe_v"
    )
    parser.add_argument(
        "--stages", type=int, required=True, metavar="P", help="pipeline stages, one per device"
    )
    parser.add_argument("--microbatches", type=int, required=True, metavar="M", help="per step")
    parser.add_argument(
        "--virtual",
        type=int,
        default=1,
        metavar="V",
        help="chunks per device, if interleaved (default: 1)",
    )
    parser.add_argument(
        "--waits",
        choices=("every", "first"),
        default="every",
        help="micro-batches of an interleaved round that wait for the message from the last device"
        " to the first: every one, or the first alone (default: every)",
    )
    for name, default, says in (
        ("forward", "1 s", "forward time of one micro-batch on one device"),
        ("backward-input", "1 s", "time of the input gradient"),
        ("backward-weight", "1 s", "time of the weight gradient"),
        ("communication", "0 s", "time of a message to another device"),
    ):
        parser.add_argument(
            f"--{name}", default=default, metavar="T", help=f"{says} (default: {default})"
        )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, with times in seconds")
    form.add_argument("--svg", action="store_true", help="print an SVG image")


def add_search(parser: ArgumentParser) -> None:
    """The options of `wallclock search`."""
    parser.add_argument("--model", required=True, help='such as 405B, or "Llama-3.1-8B layers=40"')
    parser.add_argument("--cluster", required=True, help='such as "DGX-H100 gpus=1024"')
    parser.add_argument("--batch", type=int, required=True, help="sequences per step")
    parser.add_argument(
        "--sequence", type=int, default=0,
        help="tokens per sequence (default: the model's learned positions, or 8192)",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=20, help="how many to list (default: 20)")
    parser.add_argument(
        "--fix", action="append", default=[], metavar="FIELD=VALUE",
        help="a field of the layout that is not varied, such as tensor=8; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--shares", default="", help='what kernels and links reach, such as "product=0.6"'
    )
    parser.add_argument(
        "--recipe", default="", help="bytes of each kind of number, such as Megatron or FSDP2"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def add_regrade(parser: ArgumentParser) -> None:
    """The options of `wallclock regrade`."""
    parser.add_argument(
        "exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all that have changed)"
    )
    parser.add_argument(
        "--class", dest="class_id", type=int, metavar="ID", help="a class (default: all)"
    )
    parser.add_argument("--dry-run", action="store_true", help="list what would change, no more")
    parser.add_argument(
        "--lower", action="store_true", help="also lower scores; otherwise they only rise"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object per change")


def add_platform(parser: ArgumentParser) -> None:
    """The options of `wallclock platform`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    adding = actions.add_parser("add", help="register a platform", description=_ADD)
    adding.add_argument("name", metavar="NAME", help='how you call it, such as "Our Moodle"')
    adding.add_argument("--moodle", metavar="URL", help="the address of a Moodle")
    adding.add_argument("--canvas", action="store_true", help="Canvas in Instructure's cloud")
    adding.add_argument("--client", required=True, metavar="ID", help="the client ID it shows")
    adding.add_argument(
        "--deployment", action="append", default=[], metavar="ID",
        help="a deployment ID that may launch; may be repeated, and added later with allow",
    )  # fmt: skip
    for name, says in (
        ("issuer", "the platform's issuer, often called platform ID"),
        ("auth-url", "its authentication request URL"),
        ("token-url", "its access token URL"),
        ("jwks-url", "its public key set URL"),
        ("audience", "the audience of a token request (default: the access token URL)"),
    ):
        adding.add_argument(f"--{name}", default="", metavar="URL", help=says)
    listing = actions.add_parser("list", help="list platforms, and what may launch")
    testing = actions.add_parser("test", help="read its keys, and ask it for tokens")
    allowing = actions.add_parser("allow", help="activate a platform, or allow a deployment")
    linking = actions.add_parser(
        "link", help="print a link by which a platform registers itself, once"
    )
    actions.add_parser("rotate", help="sign with the next key from now on, as after a leak")
    removing = actions.add_parser("remove", help="remove a platform; classes and people stay")
    for action in (testing, allowing, linking, removing):
        action.add_argument("name", metavar="NAME")
    allowing.add_argument("deployment", nargs="?", default="", metavar="DEPLOYMENT")
    for action in (listing, testing):
        action.add_argument("--json", action="store_true", help="print JSON")


def add_measured(parser: ArgumentParser) -> None:
    """The options of `wallclock measured`."""
    parser.add_argument(
        "file", nargs="+", metavar="FILE",
        help="output of nccl-tests or rccl-tests, a profiler trace or a training log; -: standard"
        " input",
    )  # fmt: skip
    parser.add_argument(
        "--cluster", metavar="C", help='to compare with, such as "DGX-H100" (default: by the GPU)'
    )
    for name, example in (("model", "Llama-3.1-8B"), ("layout", "tensor=2 data=8")):
        parser.add_argument(
            f"--{name}",
            metavar=name[0].upper(),
            help=f'of a training log, such as "{example}" (default: as the log says)',
        )
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def add_trace(parser: ArgumentParser) -> None:
    """The options of `wallclock trace`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    slim = actions.add_parser(
        "slim", help="keep what the report needs: no paths, hosts, operators or Python frames"
    )
    slim.add_argument("file", metavar="FILE", help="a trace of the PyTorch profiler, or packed")
    slim.add_argument("out", metavar="OUT", help="the file to write; packed if it ends in .gz")


def add_export(parser: ArgumentParser) -> None:
    """The options of `wallclock export`."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="a new folder, or one with an earlier export"
    )
    parser.add_argument(
        "--exercises", action="append", default=[], metavar="DIR",
        help="an additional folder of exercises; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--language",
        choices=tuple(LANGUAGES),
        default="",
        help="the language of the pages; the default is that of WALLCLOCK_LANGUAGE",
    )
    parser.add_argument(
        "--pyodide", metavar="FILE", default="",
        help="the npm package of Pyodide, where this machine cannot fetch it",
    )  # fmt: skip
