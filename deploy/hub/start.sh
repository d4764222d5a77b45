#!/bin/sh
# A learner's server: the course in the home is brought up to date, what the learner changed is kept, then JupyterLab starts.
# Both kinds of hub run this. MEM_LIMIT, in bytes, is JupyterHub's; AUTOLAB_COURSE names a course of the instructor's.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
JUPYTER_CONFIG_PATH=$here/server${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}
export JUPYTER_CONFIG_PATH

# A program that asks for more gets Python's MemoryError, which it can tell; without this it is killed, or on one machine takes others' memory.
if [ "${MEM_LIMIT:-0}" -gt 0 ] 2>/dev/null; then
  ulimit -d "$((MEM_LIMIT / 1024))" || echo "the limit of memory could not be set" >&2
fi
autolab-kit lab "$HOME/autolab-course" --copy-only ${AUTOLAB_COURSE:+--course "$AUTOLAB_COURSE"} \
  || echo "the course was not brought up to date; JupyterLab starts with what is there" >&2
cd "$HOME" && exec jupyterhub-singleuser "$@"
