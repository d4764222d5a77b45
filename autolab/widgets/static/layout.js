// Layout in the browser, for a kernel that has no Graphviz and for pages without a kernel. viz.js comes by a custom
// message on request, so it is never stored in a notebook; an exported page brings it along and answers itself.
import { Drawing, placesIn } from "./draw.js";

let loaded = null; // once for all explorers of a page

function ask(model, kind) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(reject, new Error("the kernel does not answer. Run the cell again.")), 20000);
    const onMessage = (message) => {
      if (message?.kind === "viz") finish(resolve, message.source);
      if (message?.kind === "error") finish(reject, new Error(message.text));
    };
    const finish = (settle, result) => {
      clearTimeout(timer);
      model.off("msg:custom", onMessage);
      settle(result);
    };
    model.on("msg:custom", onMessage);
    model.send({ kind });
  });
}

async function load(model) {
  const source = await ask(model, "need-viz"), url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const library = await import(/* webpackIgnore: true */ url);
    return await (library.instance ?? library.default.instance)();
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function pictures(model, dots) {
  loaded ??= load(model);
  loaded.catch(() => (loaded = null));
  const viz = await loaded;
  return Object.fromEntries(
    Object.entries(dots).map(([direction, dot]) => [direction, viz.renderString(dot, { format: "svg" })]),
  );
}

// The kernel gets the layout and makes the picture.
export async function layOut(model) {
  const dots = model.get("dot");
  model.send({ kind: "layouts", svgs: await pictures(model, dots), for: model.get("expanded") });
}

// No kernel: the picture is made here, of the cards that the page brings.
export async function drawHere(model, folding, expanded) {
  const folded = folding.fold(new Set(expanded));
  const drawing = new Drawing(folding, folded, model.get("cards"), model.get("headers"));
  if (drawing.missing()) throw new Error("this page brings only the parts of so big a graph; a notebook shows its operations");
  const svgs = await pictures(model, { LR: drawing.dot("LR"), TB: drawing.dot("TB") });
  const layouts = { LR: placesIn(svgs.LR), TB: placesIn(svgs.TB) };
  model.set("layouts", layouts);
  model.set("expanded", expanded);
  model.set("svg", drawing.svg(layouts.LR, expanded));
}
