#!/bin/sh
# venv.sh FOLDER [PYTHON]: makes the virtual environment with a Python of 3.11 or newer.
set -eu
. "$(dirname "$0")/system.sh"
folder=$1
wanted=${2:-}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
for candidate in ${wanted:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    found=$("${wanted:-python3}" --version 2>&1) || found="no ${wanted:-python3} at all"
    echo "autolab needs Python 3.11 or newer; found: $found." >&2
    echo "Install one (Debian 12, Ubuntu 24.04 and newer have it: sudo apt install python3 python3-venv) or name" >&2
    echo "the one to take, for example: make lab PYTHON=python3.12" >&2
    exit 1
fi

# Debian and Ubuntu ship the venv module without the pip it needs.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")')
    if ! apt_install "$package"; then
        echo "Python's venv module is not complete on this machine. Install it and try again:" >&2
        echo "    sudo apt install $package" >&2
        exit 1
    fi
fi
rm -rf "$folder"
"$python" -m venv "$folder"
