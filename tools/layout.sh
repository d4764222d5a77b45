#!/bin/sh
# layout.sh PYTHON [needed]: sees to it that something can lay graphs out: `dot`, or pygraphviz, whose wheels need a few
# system libraries. Where nothing can be installed the explorer draws in the browser: that is said, and a failure only when
# a layout is needed (the tests compare pictures).
set -eu
. "$(dirname "$0")/system.sh"
python=$1
needed=${2:-}

drawn_by() { "$python" -c 'from autolab.viz import layout; print(layout.which())'; }

[ "$(drawn_by)" = browser ] && [ -z "${AUTOLAB_LAYOUT:-}" ] || exit 0
apt_install graphviz || true
[ "$(drawn_by)" = browser ] || exit 0
{
    echo "No Graphviz on this machine: explorers are drawn in the browser, pictures of make_dot and draw are missing."
    echo "To have them there too: sudo apt install graphviz"
} >&2
[ -z "$needed" ] || { echo "The tests need it." >&2; exit 1; }
