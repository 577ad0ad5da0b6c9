"""``python -m quell`` is the command ``quell``."""

from quell.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
