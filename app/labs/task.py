"""`python -m app.labs.task FOLDER`, as manifests of earlier versions start a rank."""

import sys

from app.labs.launch.rank_main import main

if __name__ == "__main__":
    sys.exit(main())
