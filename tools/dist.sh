#!/bin/sh
# dist.sh VENV: builds the wheel and the source archive into dist/, checks what the package index would show of them, and installs each into
# an environment of its own, where the command runs, the course is copied and a gradient is computed. For a release, and for CI.
set -eu
venv=$1
rm -rf dist build/installed
"$venv"/bin/python -m build -q --outdir dist .
"$venv"/bin/python -m twine check --strict dist/*
for file in dist/*.whl dist/*.tar.gz; do
    sh tools/venv.sh build/installed
    build/installed/bin/python -m pip --disable-pip-version-check install -q "$file"
    (
        cd build/installed
        for command in autolab autolab-kit; do bin/$command doctor >/dev/null; done
        bin/autolab-kit lab "a folder" --copy-only
        test "$(bin/python -c 'import autolab as t; x = t.tensor(3.0, requires_grad=True); (x * x).backward(); print(x.grad)')" = "tensor(6.)"
        # without any Graphviz: the browser draws, and a picture says what to type
        PATH='' bin/python -c 'import autolab as t; x = t.tensor(3.0, requires_grad=True); t.explore(x * x).to_html("a.html"); \
            print(t.viz.make_dot(x * x)._repr_mimebundle_()["text/plain"])' | grep -q 'pip install "autolab-kit\[graphviz\]"'
        grep -q 'id="autolab-viz"' a.html
        if bin/python -c 'import autolab; autolab.viz.plot_losses([1.0])' 2>said; then echo "Matplotlib came along" >&2; exit 1; fi
        grep -q 'autolab-kit\[lab\]' said
        # beside PyPI's project of the same name: what is said, and what is said once that was uninstalled
        mkdir lib/beside && cp -r lib/python3*/site-packages/autolab_kit.py lib/beside/
        if PYTHONPATH=lib/beside bin/python -S -m autolab_kit doctor 2>said; then echo "a missing kit was not noticed" >&2; exit 1; fi
        grep -q "pip install" said
    )
    size=$(du -sm --exclude='pip*' --exclude='setuptools*' --exclude=pkg_resources build/installed | cut -f1)  # what pip brought
    echo "$file: installed, and works: $size MB"
    test "$size" -le 200
    rm -rf build/installed
done
