"""What no test and no notebook under test may do: write what it answers to the store of whoever runs it."""

import os

os.environ["AUTOLAB_PROGRESS"] = "off"
