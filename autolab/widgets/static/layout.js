// Layout in the browser, for a kernel that has no Graphviz and for pages without a kernel. viz.js is never stored with a
// widget: a kernel sends it on request, an exported page brings it along and answers itself, and in a notebook whose kernel
// is gone it is taken from the one model that `engine` names (see engine.py).
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

// The model that keeps viz.js in the notebook: by its id where the host finds models, else where it said it is (engine.js);
// null where neither is so.
export async function engineOf(model) {
  const id = model.get("engine");
  if (!id) return null;
  const found = await model.widget_manager?.get_model?.(id)?.catch(() => null);
  return found ?? globalThis[Symbol.for("autolab.engine")] ?? null;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function load(model, engine) {
  const source = engine ? await unpacked(engine.get("source")) : await ask(model, "need-viz");
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const library = await import(/* webpackIgnore: true */ url);
    return await (library.instance ?? library.default.instance)();
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function pictures(model, dots, engine = null) {
  loaded ??= load(model, engine);
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

// No kernel: the picture is made here.
export async function drawHere(model, folding, cards, expanded, engine = null) {
  const drawing = new Drawing(folding, folding.fold(new Set(expanded)), cards);
  const svgs = await pictures(model, { LR: drawing.dot("LR"), TB: drawing.dot("TB") }, engine);
  const layouts = { LR: placesIn(svgs.LR), TB: placesIn(svgs.TB) };
  model.set("layouts", layouts);
  model.set("expanded", expanded);
  model.set("svg", drawing.svg(layouts.LR, expanded));
}
