"""What the parsers of commands have in common."""

import argparse
from argparse import ArgumentParser
from typing import TypeAlias

from app.core.errors import sentence

Commands: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"


def add_command(commands: Commands, name: str, says: str) -> ArgumentParser:
    """The parser of the command *name*, described by *says* in the list and in its own help."""
    return commands.add_parser(name, help=says, description=sentence(says))


def add_actions(parser: ArgumentParser) -> Commands:
    """The list of actions of a command, to which each is added."""
    return parser.add_subparsers(dest="action", required=True, metavar="ACTION")


def add_output(parser: ArgumentParser, name: str) -> None:
    """The option that says where to write, which is a file such as *name*."""
    parser.add_argument("-o", "--output", metavar=name, default="-", help="default: standard output")
