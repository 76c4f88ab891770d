"""`wallclock formula`: evaluate formulas."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from app.core.errors import InputError
from app.core.formulas import FORMULAS, formula_value, lookup


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock formula`."""
    parser.add_argument("name", nargs="?", help="such as collectives.ring_all_reduce_time; omit it to list all")
    parser.add_argument("pairs", nargs="*", metavar="key=value", help='arguments, such as size="2 GB" ranks=8')
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def run(arguments: Namespace) -> int:
    """Print the value of a formula, or the list of formulas."""
    if not arguments.name:
        if arguments.json:
            listed = [
                {"name": name, "says": one.says, "unit": one.result.symbol, "arguments": list(one.inputs)}
                for name, one in FORMULAS.items()
            ]
            sys.stdout.write(json.dumps(listed, ensure_ascii=False, indent=1) + "\n")
        else:
            width = max(map(len, FORMULAS))
            sys.stdout.writelines(f"{name:<{width}}  {one.says}\n" for name, one in FORMULAS.items())
        return 0
    formula = lookup(arguments.name)
    value = formula_value(formula, _given_arguments(arguments.pairs))
    text = formula.text(value)
    if arguments.json:
        row = {"value": formula.plain(value), "unit": formula.result.symbol, "text": text}
        text = json.dumps(row, ensure_ascii=False)
    sys.stdout.write(f"{text}\n")
    return 0


def _given_arguments(pairs: Sequence[str]) -> Mapping[str, str]:
    given = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f'{pair!r} is not an argument: write {pair}=..., such as size="2 GB"')
        if key in given:
            raise InputError(f"{key} is given twice")
        given[key] = value
    return given
