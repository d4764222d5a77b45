// Layout in the browser, for a kernel that has no Graphviz and for pages without a kernel. viz.js, and what draws with it
// (drawing.js), are never stored with a widget: a kernel sends them on request, an exported page brings them along and answers
// itself, and in a notebook whose kernel is gone they are taken from the one model that `engine` names (see engine.py).

const SLOW = 20000; // ms that an answer of the kernel is waited for

let loaded = null; // once for all explorers of a page

export class Late extends Error {} // no answer by then: a kernel that is busy answers after the cell

function ask(model, kind) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(reject, new Late("the kernel does not answer")), SLOW);
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
  const source = await unpacked(engine ? engine.get("source") : await ask(model, "need-viz"));
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const library = await import(/* webpackIgnore: true */ url);
    return { viz: await (library.instance ?? library.default.instance)(), drawing: library.drawing };
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function loadOnce(model, engine = null) {
  loaded ??= load(model, engine);
  loaded.catch(() => (loaded = null));
  return loaded;
}

async function pictures(model, dots, engine) {
  const { viz } = await loadOnce(model, engine);
  return Object.fromEntries(
    Object.entries(dots).map(([direction, dot]) => [direction, viz.renderString(dot, { format: "svg" })]),
  );
}

// The kernel gets the layout and makes the picture.
export async function layOut(model, dots) {
  model.send({ kind: "layouts", svgs: await pictures(model, dots), for: model.get("expanded"), rankdir: model.get("rankdir") });
}

// No kernel: the picture is made here, and shown if it is still wanted then: the learner may have asked for another since.
export async function drawHere(model, folding, expanded, engine = null, wanted = () => true) {
  const { Cards, Drawing } = (await loadOnce(model, engine)).drawing;
  folding.cards ??= new Cards(folding.trace, folding);
  const drawing = new Drawing(folding, folding.fold(new Set(expanded)), folding.cards);
  const rankdir = model.get("rankdir"), dots = drawing.ways(rankdir).map((way) => [way, drawing.dot(way)]);
  const svgs = await pictures(model, Object.fromEntries(dots), engine);
  if (!wanted()) return;
  const layouts = Object.fromEntries(Object.entries(svgs).map(([way, svg]) => [way, drawing.places(svg, way)]));
  model.set("layouts", layouts);
  model.set("expanded", expanded);
  model.set("svg", drawing.svg(layouts[rankdir], expanded));
}
