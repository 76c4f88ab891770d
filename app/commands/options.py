"""The options of commands that calculate."""

from argparse import ArgumentParser


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
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def add_trace(parser: ArgumentParser) -> None:
    """The options of `wallclock trace`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    slim = actions.add_parser(
        "slim", help="keep what the report needs: no paths, hosts, operators or Python frames"
    )
    slim.add_argument("file", metavar="FILE", help="a trace of the PyTorch profiler, or packed")
    slim.add_argument("out", metavar="OUT", help="the file to write; packed if it ends in .gz")
