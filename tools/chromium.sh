#!/bin/sh
# chromium.sh PYTHON: prints the path of a Chromium (or Chrome) for the browser tests, installing one where that is allowed.
set -eu
. "$(dirname "$0")/system.sh"
python=$1

# Browsers from snap cannot read the profile that the tests give them.
is_snap() { case $(readlink -f "$1") in */snap*) return 0 ;; esac; grep -qs '/snap/bin' "$1"; }

# One on the PATH, or the one that Playwright downloaded.
find_browser() {
    for name in chromium google-chrome google-chrome-stable chromium-browser; do
        path=$(command -v "$name" 2>/dev/null) && ! is_snap "$path" && echo "$path" && return 0
    done
    path=$("$python" - <<'PYTHON'
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
PYTHON
    ) && [ -x "$path" ] && echo "$path"
}

if [ -n "${AUTOLAB_CHROMIUM:-}" ]; then
    command -v "$AUTOLAB_CHROMIUM" && exit 0
    echo "AUTOLAB_CHROMIUM=$AUTOLAB_CHROMIUM is not a program" >&2
    exit 1
fi
find_browser && exit 0
# Debian packages Chromium; Ubuntu's package of that name only asks for snap, so Playwright's own build is the way there.
if grep -qs '^ID=ubuntu' /etc/os-release; then
    command="$python -m playwright install --with-deps chromium"
    if apt_command >/dev/null; then $command >&2 || true; fi
else
    command="sudo apt install chromium"
    apt_install chromium || true
fi
find_browser && exit 0
{
    echo "The browser tests need Chromium or Chrome, and none was found. Install it and try again:"
    echo "    $command"
    echo "or name one:              AUTOLAB_CHROMIUM=/path/to/chrome make test"
    echo "or leave these tests out: AUTOLAB_NO_BROWSER=1 make test"
} >&2
exit 1
