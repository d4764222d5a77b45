// What anywidget is given of a widget: a view wherever it is shown, a new one when `renewed` (an attribute) changes, and
// what goes on without a view (`begin`, which returns how to end it). JupyterLab keeps the comm of a closed model until the
// kernel ends, and by it the model and the elements of its views: nothing is left in either.
const HEAVY = ["_esm", "data", "folding", "formulas", "layouts", "dot", "svg", "pictures"];

export function entry(View, begin, renewed) {
  return {
    initialize({ model }) {
      const end = begin?.(model);
      return () => {
        end?.();
        const nothing = Object.fromEntries(HEAVY.map((name) => [name, undefined]));
        for (let times = 0; times < 2; times += 1) model.set(nothing, { silent: true }); // a model keeps what it was before
      };
    },
    render({ model, el }) {
      let view = new View(model, el);
      const anew = () => {
        view.leave();
        view = new View(model, el);
      };
      if (renewed) model.on(`change:${renewed}`, anew);
      return () => {
        if (renewed) model.off(`change:${renewed}`, anew);
        view.leave();
        el.shadowRoot.replaceChildren();
      };
    },
  };
}
