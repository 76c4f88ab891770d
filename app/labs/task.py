"""`python -m app.labs.task FOLDER`: `rank_main` under its old name, for existing manifests."""

import sys

from app.labs.launch.rank_main import main

if __name__ == "__main__":
    sys.exit(main())
