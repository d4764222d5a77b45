// Makes the files from which the playground starts Python: node pack.mjs PYODIDE_FOLDER KIT.zip TARGET_FOLDER
//
// files.gz: autolab, NumPy and what they import, with compiled modules (.pyc). First comes the length of a list, then the list
// of paths and sizes as JSON, then the contents. memory.gz: Python's memory after it has imported the standard modules that
// autolab imports. Starting from this copy takes a tenth of the time. Only the Python that will read them can write these files.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [folder, kit, target] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${folder}/` });
await python.loadPackage(["numpy", "traitlets"], { messageCallback: () => {} });
python.unpackArchive(new Uint8Array(await readFile(kit)).buffer, "zip", { extractDir: "/lib/autolab" });
const [paths, modules] = python
  .runPython(
    `
import compileall, pathlib, py_compile, re, shutil, sys
packages = next(pathlib.Path(path) for path in sys.path if path.endswith("site-packages"))
for unused in ("tests", "f2py", "distutils"):
    for folder in list(packages.rglob(f"numpy/**/{unused}")):
        shutil.rmtree(folder)
roots = [packages, pathlib.Path("/lib/autolab")]
for root in roots:
    compileall.compile_dir(root, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
unread = re.compile(r"\\.(pyi|h|a|c|pxd|pyx|ini)$|/numpy/.*\\.py$")
files = [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]
for path in list(files):
    compiled = path.parent / "__pycache__" / f"{path.stem}.cpython-312.pyc"
    if "/numpy/" in str(path) and path.suffix == ".py" and compiled.exists():  # a module without its source
        files[files.index(compiled)] = compiled.rename(path.with_suffix(".pyc"))
sys.path.insert(0, "/lib/autolab")
before = set(sys.modules)
import playground
playground.warm_up()
library = [name for name, module in sys.modules.items() if "python312.zip" in (getattr(module, "__file__", None) or "")]
[str(path) for path in files if not unread.search(str(path))], library
`,
  )
  .toJs();

const contents = paths.map((path) => python.FS.readFile(path));
const list = Buffer.from(JSON.stringify(paths.map((path, index) => [path, contents[index].length])));
const length = Buffer.alloc(4);
length.writeUInt32LE(list.length);
await writeFile(`${target}/files.gz`, gzipSync(Buffer.concat([length, list, ...contents]), { level: 9 }));

const fresh = await loadPyodide({ indexURL: `${folder}/`, _makeSnapshot: true });
fresh.runPython(`
import importlib, sys
for name in ${JSON.stringify(modules)}:
    importlib.import_module(name)
sys.path.insert(0, "/lib/autolab")
`);
await writeFile(`${target}/memory.gz`, gzipSync(fresh.makeMemorySnapshot(), { level: 9 }));
