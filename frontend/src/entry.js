// What anywidget is given of a widget: a view wherever it is shown, a new one when one of `renewed` (attributes) changes, and
// what goes on without a view (`begin`, which returns how to end it). JupyterLab keeps the comm of a closed model until the
// kernel ends, and by it the model and the elements of its views: nothing is left in either.
const HEAVY = ["_script", "data", "folding", "formulas", "layouts", "dot", "svg", "pictures"];

// How many views there are, for the kernel. A page that is loaded anew begins at none: nobody told of the views of the page before.
function countViews(model, change) {
  if (!change) return;
  model.set("_views", (model.get("_views") ?? 0) + change);
  model.save_changes();
}

export function entry(View, begin, renewed) {
  return {
    initialize({ model }) {
      countViews(model, -(model.get("_views") ?? 0));
      const end = begin?.(model);
      return () => {
        end?.();
        const nothing = Object.fromEntries(HEAVY.map((name) => [name, undefined]));
        for (let times = 0; times < 2; times += 1) model.set(nothing, { silent: true }); // a model keeps what it was before
      };
    },
    render({ model, el }) {
      let view = new View(model, el);
      countViews(model, 1);
      const anew = () => {
        const focused = el.shadowRoot.activeElement;
        view.leave();
        view = new View(model, el);
        if (focused) view.takeFocus?.(focused);
      };
      for (const name of renewed ?? []) model.on(`change:${name}`, anew);
      return () => {
        for (const name of renewed ?? []) model.off(`change:${name}`, anew);
        view.leave();
        countViews(model, -1);
        el.shadowRoot.replaceChildren();
      };
    },
  };
}
