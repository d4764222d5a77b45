// Adds compiled modules (.pyc) to a ZIP file of Python's sources: node compile.mjs PYODIDE_FOLDER FILE.zip
// Only the Python that will read them can write them, so this is Pyodide, run by Node.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${folder}/` });
python.unpackArchive(new Uint8Array(await readFile(file)).buffer, "zip", { extractDir: "/kit" });
python.runPython(`
import compileall, py_compile, shutil
compileall.compile_dir("/kit", quiet=2, stripdir="/kit", prependdir="/lib/autolab", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
shutil.make_archive("/made", "zip", "/kit")
`);
await writeFile(file, python.FS.readFile("/made.zip"));
