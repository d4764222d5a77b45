// The functions that anywidget gets: a view wherever the widget is shown, a new view when one of `renewed`
// (attributes) changes, and code that runs without a view (`begin`, which returns its clean-up). JupyterLab keeps the
// comm of a closed model until the kernel ends, and through it the model and its views' elements, so both are
// emptied.
const HEAVY = ["_script", "data", "folding", "formulas", "layouts", "dot", "svg", "pictures"];

// Tell the kernel the number of views. A reloaded page starts at none, because the views of the page before were
// never reported as closed.
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
        for (let times = 0; times < 2; times += 1) model.set(nothing, { silent: true }); // a model also keeps its previous values
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
