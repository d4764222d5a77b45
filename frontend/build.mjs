// Bundles the widgets: `src/NAME.ts` (or .js) and `src/NAME.css` become `autolab/widgets/static/NAME.js` and `NAME.css`.
// `npm run check` builds in memory and compares with the committed files.
import * as esbuild from "esbuild";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..");
const source = join(here, "src");
const target = join(root, "autolab", "widgets", "static");
const WIDGETS = ["conv", "dashboard", "devices", "digit", "explorer", "field", "freeze", "inventory", "landscape", "practice", "predict", "verdict"];
const check = process.argv.includes("--check");

const common = { bundle: true, minify: !process.env.PLAIN, write: false, charset: "ascii", legalComments: "none", logLevel: "warning", target: "es2022" };

function entry(name) {
  return [".ts", ".js"].map((ending) => join(source, name + ending)).find(existsSync);
}

async function bundle(options) {
  const { outputFiles } = await esbuild.build({ ...common, ...options });
  return outputFiles[0].text;
}

const built = new Map();
for (const name of WIDGETS) {
  built.set(join(target, `${name}.js`), await bundle({ entryPoints: [entry(name)], format: "esm" }));
  const style = join(source, `${name}.css`);
  if (existsSync(style)) built.set(join(target, `${name}.css`), await bundle({ entryPoints: [style] }));
}
// What the Python tests compare with functions of the package: all that the modules export, in one script.
const modules = readdirSync(source).filter((file) => /\.(ts|js)$/.test(file)).sort();
const everything = [...modules.map((file) => `export * from "./${file.replace(/\.ts$/, "")}";`), `export { default } from "./explorer.js";`].join("\n");
built.set(join(root, "tests", "browser", "tested.js"), await bundle({ stdin: { contents: everything, resolveDir: source }, format: "esm" }));

const stale = [...built].filter(([path, text]) => !existsSync(path) || readFileSync(path, "utf8") !== text).map(([path]) => path);
const left = readdirSync(target).map((name) => join(target, name)).filter((path) => !built.has(path));
if (check) {
  for (const path of [...stale, ...left]) console.error(`${path} is not what the sources build: run \`npm run build\` in frontend/`);
  process.exit(stale.length + left.length ? 1 : 0);
}
for (const path of stale) writeFileSync(path, built.get(path));
for (const path of left) rmSync(path);
for (const [path, text] of built) console.log(`${(text.length / 1000).toFixed(1).padStart(7)} kB  ${path.slice(root.length + 1)}`);
