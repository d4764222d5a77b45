#!/bin/sh
# firefox.sh: Firefox for tests/browser/test_firefox.py, installed where that is allowed (Debian's; Ubuntu's package only asks for
# snap). Never fails: without Firefox that test is skipped.
set -eu
. "$(dirname "$0")/system.sh"
if command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 || grep -qs '^ID=ubuntu' /etc/os-release; then
    exit 0
fi
apt_install --no-install-recommends firefox-esr || echo "Firefox is not here: tests/browser/test_firefox.py is skipped." >&2
