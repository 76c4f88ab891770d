"""Installs the servers of others that the tests talk to, so that no test has to."""

import sys

from tests.federation import provider
from tests.federation.environment import peers


def main() -> int:
    """0 when all of them are there."""
    try:
        peers()
        if provider.NODE:
            provider.certified()
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
