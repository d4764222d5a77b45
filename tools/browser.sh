#!/bin/sh
# browser.sh PYTHON: prints the path of a Chromium (or Chrome) for the browser tests. What is missing, the browser or a library
# of Playwright's driver, is installed where that is allowed, else named.
set -eu
. "$(dirname "$0")/system.sh"
python=$1

driver_works() { "$python" -m playwright --version >/dev/null 2>&1; }

# Browsers from snap cannot read the profile that the tests give them.
is_snap() { case $(readlink -f "$1") in */snap*) return 0 ;; esac; grep -qs '/snap/bin' "$1"; }

# The one that is named, one on the PATH, or the one that Playwright downloaded.
find_browser() {
    if [ -n "${AUTOLAB_CHROMIUM:-}" ]; then
        command -v "$AUTOLAB_CHROMIUM" && return 0
        echo "AUTOLAB_CHROMIUM=$AUTOLAB_CHROMIUM is not a program" >&2
        exit 1
    fi
    for name in chromium google-chrome google-chrome-stable chromium-browser; do
        path=$(command -v "$name" 2>/dev/null) && ! is_snap "$path" && echo "$path" && return 0
    done
    path=$("$python" - 2>/dev/null <<'PYTHON'
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
PYTHON
    ) && [ -x "$path" ] && echo "$path"
}

packages= commands=
driver_works || packages=libatomic1
if ! find_browser >/dev/null; then
    # Debian packages Chromium; Ubuntu's package of that name only asks for snap: there it is Playwright's own build.
    if grep -qs '^ID=ubuntu' /etc/os-release; then
        commands="$python -m playwright install --with-deps chromium"
    else
        packages="$packages chromium"
    fi
fi
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 (several words are meant)
    apt_install $packages || commands="sudo apt install $packages${commands:+ && $commands}"
fi
if [ -n "$commands" ] && apt_command >/dev/null; then
    sh -c "$commands" >&2 || true
fi
if driver_works && find_browser; then
    exit 0
fi
{
    echo "The browser tests need Chromium or Chrome and a working Playwright. To install what is missing:"
    echo "    ${commands:-$python -m playwright install --with-deps chromium}"
    echo "or name a browser:        AUTOLAB_CHROMIUM=/path/to/chrome make test"
    echo "or leave these tests out: AUTOLAB_NO_BROWSER=1 make test"
} >&2
exit 1
