// What all widgets that are stepped have around them: a root that is one stop of the Tab key, the sentence about the step, listeners that go with the view.
import { followTheme, h, rootIn } from "./dom.js";

// A sentence that is read out when it changes.
export function sentenceBox() {
  return h("p", { class: "al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
}

export function stage(el, name, label, ...inside) {
  const root = h("div", { class: name, role: "group", tabindex: "0", "aria-label": label }, inside);
  rootIn(el).replaceChildren(h("style", { text: STYLE }), root);
  return root;
}

// Hears of changes, sizes and the theme until what is returned is called. What is told of `data` that this view does not show is the next view's.
export function attend(el, root, model, changes, resized) {
  const data = model.get("data"), handlers = Object.entries(changes).map(([name, act]) => [name, (message) => model.get("data") === data && act(message)]);
  for (const [name, handler] of handlers) model.on(name, handler);
  const sizes = new ResizeObserver(resized), forget = followTheme(el, root);
  sizes.observe(root);
  return () => {
    for (const [name, handler] of handlers) model.off(name, handler);
    sizes.disconnect();
    forget();
  };
}
