"""`python -m autolab` is the `autolab` command."""

import sys

from .cli import main

sys.exit(main())
