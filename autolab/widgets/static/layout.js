// Layout in the browser, for a kernel that has no Graphviz: the kernel sends viz.js on request and gets SVG back, from
// which it makes the picture. Only a custom message carries viz.js, so it is never stored in a notebook.

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

export async function layOut(model) {
  const source = await ask(model, "need-viz");
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    const library = await import(/* webpackIgnore: true */ url);
    const viz = await (library.instance ?? library.default.instance)();
    const svgs = Object.fromEntries(
      Object.entries(model.get("dot")).map(([direction, dot]) => [direction, viz.renderString(dot, { format: "svg" })]),
    );
    model.send({ kind: "layouts", svgs });
  } finally {
    URL.revokeObjectURL(url);
  }
}
