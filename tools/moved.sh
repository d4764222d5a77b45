#!/bin/sh
# moved.sh: removes each .venv* here that was made in another folder: its scripts name that, and fail in a clone that was moved. The Makefile
# makes it anew. One made by another tool than venv.sh does not say where, and is left alone.
for made in .venv*/pyvenv.cfg; do
    folder=$PWD/${made%/pyvenv.cfg}
    was=$(sed -n 's/^command = .* -m venv //p' "$made" 2>/dev/null)
    if [ -n "$was" ] && [ "$was" != "$folder" ]; then
        echo "$folder was made as $was: it is made anew" >&2
        rm -rf "$folder"
    fi
done
