"""Run the command `autolab-kit` with `python -m autolab`."""

import sys

from .cli import main

sys.exit(main())
