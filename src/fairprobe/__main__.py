"""Runs the command line as `python -m fairprobe`."""

import sys

from fairprobe.cli import main

if __name__ == "__main__":
    sys.exit(main())
