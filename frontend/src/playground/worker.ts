// Python in a thread of its own: Pyodide, NumPy and autolab. The page ends this worker to stop a program.
import type { FromWorker, Output, ToWorker } from "./messages";

interface Python {
  FS: {
    mkdirTree(folder: string): void;
    writeFile(path: string, content: Uint8Array, options: { canOwn: boolean }): void;
  };
  loadedPackages: Record<string, string>;
  loadPackage(names: string[]): Promise<unknown>;
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
  const files = unpacked("files.gz");
  const python = await loadPyodide({ indexURL: at, _loadSnapshot: unpacked("memory.gz") });
  say({ kind: "progress", text: "autolab is loading." });
  write(python, await files);
  python.loadedPackages.numpy = "files.gz"; // so that Matplotlib does not load it again
  python.runPython("import playground; playground.warm_up()");
  return python;
}

async function unpacked(file: string): Promise<Uint8Array> {
  const answer = await fetch(new URL(file, here));
  if (!answer.ok || !answer.body) throw new Error(`${file}: ${answer.status}`);
  return new Uint8Array(await new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

/** Write the files of an archive that tools/playground/pack.mjs has made. */
function write(python: Python, archive: Uint8Array): void {
  const start = 4 + new DataView(archive.buffer).getUint32(0, true);
  const list = JSON.parse(new TextDecoder().decode(archive.subarray(4, start))) as [string, number][];
  let at = start;
  for (const [path, size] of list) {
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, archive.subarray(at, (at += size)), { canOwn: true });
  }
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
