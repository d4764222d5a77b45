// The playground's page: an editor on the left, what the program shows on the right, Python in a worker.
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Prec } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { EditorView, basicSetup } from "codemirror";
import type { FromWorker, Output } from "./messages";
import { outputs } from "./outputs";
import { fromHash, toHash } from "./share";

interface Example {
  name: string;
  title: string;
  code: string;
  outputs: Output[];
}

const get = <T extends HTMLElement>(id: string): T => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
};
const status = get("status");
const [run, stop, share, embed, download] = ["run", "stop", "share", "embed", "download"].map((id) =>
  get<HTMLButtonElement>(id),
) as [HTMLButtonElement, HTMLButtonElement, HTMLButtonElement, HTMLButtonElement, HTMLButtonElement];
const chosen = get<HTMLSelectElement>("example");
const shown = outputs(get("output"));

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "light-dark(#7B3294, #C59BDA)" },
  { tag: [tags.string, tags.number, tags.bool], color: "light-dark(#197A48, #52C78F)" },
  { tag: tags.comment, color: "light-dark(#5A6571, #A6B1BD)" },
  { tag: tags.function(tags.variableName), color: "light-dark(#0B5FC0, #74B4FF)" },
]);
const look = EditorView.theme({
  ".cm-gutters": { background: "var(--panel)", color: "var(--muted)", border: "0" },
  ".cm-content": { caretColor: "var(--text)" },
  "&.cm-focused .cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "light-dark(#0b5fc00d, #74b4ff14)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    background: "light-dark(#cfe2fb, #23426a) !important",
  },
});
const editor = new EditorView({
  parent: get("code"),
  extensions: [
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (start(), true) }])),
    basicSetup,
    python(),
    syntaxHighlighting(colours),
    look,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Your code. Escape, then Tab leaves the editor." }),
  ],
});

let worker: Worker;
let ready = false;
let running = 0; // the number of the run whose outputs are shown
let began = 0;

function begin(): void {
  ready = false;
  worker = new Worker("worker.js", { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => heard(data));
}

function heard(message: FromWorker): void {
  if (message.kind === "progress") status.textContent = message.text;
  else if (message.kind === "broken") ended(`Python could not be loaded. Load this page again. ${message.text}`);
  else if (message.kind === "ready") {
    ready = true;
    if (stop.disabled) status.textContent = "Python is ready.";
    else status.textContent = "Your program is running.";
  } else if (message.run === running) {
    if (message.kind === "output") shown.add(message.output);
    else
      ended(
        message.ok
          ? `Your program ran in ${((performance.now() - began) / 1000).toFixed(1)} s.`
          : "Your program ended with an error, see below.",
      );
  }
}

function start(): void {
  if (!stop.disabled) return;
  shown.clear();
  running += 1;
  began = performance.now();
  [run.disabled, stop.disabled, download.disabled] = [true, false, true];
  status.textContent = ready ? "Your program is running." : "Your program runs as soon as Python is loaded.";
  worker.postMessage({ kind: "run", run: running, code: editor.state.doc.toString() });
}

function ended(said: string): void {
  [run.disabled, stop.disabled, download.disabled] = [false, true, shown.pages().length === 0];
  status.textContent = said;
}

function write(code: string): void {
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: code } });
}

function tell(label: string, text: string): void {
  const link = get<HTMLInputElement>("link");
  get("link-label").textContent = label;
  get("copied").hidden = false;
  link.value = text;
  link.focus();
  link.select();
  navigator.clipboard?.writeText(text).then(
    () => (status.textContent = "Copied."),
    () => (status.textContent = "Copy the text below."),
  );
}

const address = async (query: string): Promise<string> =>
  `${location.href.split(/[?#]/)[0]}${query}#${await toHash(editor.state.doc.toString())}`;

run.addEventListener("click", start);
stop.addEventListener("click", () => {
  worker.terminate();
  running += 1;
  ended("Stopped. Python is loading again.");
  begin();
});
share.addEventListener("click", async () => {
  const link = await address("");
  history.replaceState(null, "", link);
  tell("A link to this program", link);
});
embed.addEventListener("click", async () =>
  tell(
    "A line for your own page",
    `<iframe src="${await address("?embed")}" width="100%" height="640" title="autolab playground"></iframe>`,
  ),
);
download.addEventListener("click", () => {
  const page = shown.pages().at(-1);
  if (!page) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  link.download = "autolab.html";
  link.click();
  URL.revokeObjectURL(link.href);
  status.textContent = "Saved the last widget as a page that needs no network.";
});
get("close").addEventListener("click", () => {
  get("copied").hidden = true;
  editor.focus();
});

async function open(): Promise<void> {
  document.body.classList.toggle("embed", new URLSearchParams(location.search).has("embed"));
  begin();
  const examples = (await (await fetch("examples.json")).json()) as Example[];
  for (const example of examples) chosen.append(new Option(example.title, example.name));
  const show = (example: Example): void => {
    write(example.code);
    if (!stop.disabled) return;
    running += 1; // an earlier run has nothing to say any more
    shown.clear();
    example.outputs.forEach(shown.add);
    download.disabled = shown.pages().length === 0;
    status.textContent = ready
      ? "This is what the example shows. Change it, then run it."
      : "This is what the example shows. Python is loading.";
  };
  chosen.addEventListener("change", () => {
    const example = examples.find(({ name }) => name === chosen.value);
    if (example) show(example);
  });
  const code = await fromHash(location.hash);
  if (code !== null) {
    chosen.prepend(new Option("Shared program", "", true, true));
    write(code);
    start();
  } else if (examples[0]) show(examples[0]);
  if ("serviceWorker" in navigator && location.protocol !== "file:")
    await navigator.serviceWorker.register("offline.js");
  document.documentElement.dataset.ready = "page";
}

void open();
