"""``python -m quell.cli``."""

import sys

from quell.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
