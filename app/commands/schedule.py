"""`wallclock schedule`: draw pipeline schedules."""

import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace

from app.core.charts.svg import to_svg
from app.core.charts.timeline import SAID, gantt, schedule_timeline
from app.core.simulators.pipeline import SimulatedSchedule, Times, build, simulate_schedule
from app.core.units import SECOND, parse_or_base

_WIDE = 2000  # columns, if there is no terminal


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock schedule`."""
    parser.add_argument("name", help="naive, gpipe, 1f1b, interleaved, zb_h1, zb_h2, zb_v, dualpipe or dualpipe_v")
    parser.add_argument("--stages", type=int, required=True, metavar="P", help="pipeline stages, one per device")
    parser.add_argument("--microbatches", type=int, required=True, metavar="M", help="per step")
    parser.add_argument(
        "--virtual", type=int, default=1, metavar="V", help="chunks per device, if interleaved (default: 1)"
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
        parser.add_argument(f"--{name}", default=default, metavar="T", help=f"{says} (default: {default})")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, with times in seconds")
    form.add_argument("--svg", action="store_true", help="print an SVG image")


def run(arguments: Namespace) -> int:
    """Print a schedule as a Gantt chart, JSON or SVG."""
    times = Times(
        _seconds("forward", arguments.forward),
        _seconds("backward-input", arguments.backward_input),
        _seconds("backward-weight", arguments.backward_weight),
        _seconds("communication", arguments.communication),
    )
    schedule = build(arguments.name, arguments.stages, arguments.microbatches, arguments.virtual, arguments.waits)
    played = simulate_schedule(schedule, times)
    if arguments.json:
        sys.stdout.write(json.dumps(_schedule_json(played)) + "\n")
    elif arguments.svg:
        sys.stdout.write(to_svg(schedule_timeline(played), alone=True))
    else:
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size((_WIDE, 24)).columns if terminal else _WIDE
        timeline = schedule_timeline(played)
        sys.stdout.write(f"{timeline.title}: {timeline.summary}\n")
        sys.stdout.write(f"{timeline.note}\n\n" if timeline.note else "\n")
        sys.stdout.write(gantt(timeline, width, terminal and "NO_COLOR" not in os.environ))
    return 0


def _seconds(name: str, text: str) -> float:
    try:
        return parse_or_base(text, SECOND)
    except ValueError as error:
        raise ValueError(f"--{name}: {error}") from None


def _schedule_json(played: SimulatedSchedule) -> dict[str, object]:
    """The schedule as JSON; times in seconds."""
    slots = [
        {
            "device": slot.device,
            "stage": slot.stage,
            "microbatch": slot.microbatch,
            "kind": SAID[slot.kind].replace(", ", " ").replace(" ", "_"),
            "start": slot.start,
            "end": slot.end,
        }
        for own in played.slots
        for slot in own
    ]
    return {
        "schedule": played.schedule.name,
        "stages": played.schedule.devices,
        "microbatches": played.schedule.microbatches,
        "step_time": played.step_time,
        "makespan": played.makespan,
        "ideal_time": played.ideal_time,
        "bubble_ratio": played.bubble_ratio,
        "bubble_fraction": played.bubble_fraction,
        "in_flight": list(played.in_flight),
        "sends": list(played.sends),
        "slots": slots,
    }
