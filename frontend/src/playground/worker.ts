// Python in a thread of its own: Pyodide, NumPy and autolab. The page ends this worker to stop a program.
import type { FromWorker, Output, ToWorker } from "./messages";

interface Python {
  loadPackage(names: string[]): Promise<unknown>;
  loadPackagesFromImports(code: string): Promise<unknown>;
  unpackArchive(buffer: ArrayBuffer, format: string, options: { extractDir: string }): void;
  pyimport(name: string): { run(code: string, send: (output: { toJs(options: object): Output }) => void): boolean };
  runPython(code: string): unknown;
}

const here = new URL("./", self.location.href);
const say = (message: FromWorker): void => self.postMessage(message);

async function load(): Promise<Python> {
  say({ kind: "progress", text: "Python is loading." });
  const at = new URL("pyodide/", here).href;
  const { loadPyodide } = (await import(/* @vite-ignore */ `${at}pyodide.mjs`)) as {
    loadPyodide(options: object): Promise<Python>;
  };
  const kit = fetch(new URL("autolab.zip", here)).then((answer) => answer.arrayBuffer());
  const python = await loadPyodide({ indexURL: at });
  say({ kind: "progress", text: "NumPy is loading." });
  await python.loadPackage(["numpy", "traitlets"]);
  say({ kind: "progress", text: "autolab is loading." });
  python.unpackArchive(await kit, "zip", { extractDir: "/lib/autolab" });
  python.runPython("import sys; sys.path.insert(0, '/lib/autolab'); import playground; playground.warm_up()");
  return python;
}

const loading = load();
loading.then(
  () => say({ kind: "ready" }),
  (error: unknown) => say({ kind: "broken", text: String(error) }),
);

self.addEventListener("message", async ({ data }: MessageEvent<ToWorker>) => {
  const { run, code } = data;
  const python = await loading.catch(() => null);
  if (!python) return; // the page has been told
  if (/^\s*(import|from)\s+matplotlib/m.test(code)) {
    say({ kind: "progress", text: "Matplotlib is loading." });
    await python.loadPackage(["matplotlib"]);
    python.runPython("import matplotlib; matplotlib.use('agg')");
  }
  const send = (output: { toJs(options: object): Output }): void =>
    say({ kind: "output", run, output: output.toJs({ dict_converter: Object.fromEntries }) });
  say({ kind: "done", run, ok: python.pyimport("playground").run(code, send) });
});
