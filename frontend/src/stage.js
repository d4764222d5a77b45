// Shared by all widgets with steps: a root that is one tab stop, the sentence about the step, listeners that are
// removed with the view.
import { followTheme, h, rootIn } from "./dom.js";

// Return an element whose text is read out when it changes.
export function sentenceBox() {
  return h("p", { class: "al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
}

export function stage(el, name, label, ...inside) {
  const root = h("div", { class: name, role: "group", tabindex: "0", "aria-label": label }, inside);
  rootIn(el).replaceChildren(h("style", { text: STYLE }), root);
  return root;
}

// Listen to changes, sizes and the theme until the returned function is called. Changes of `data` that this view does
// not show belong to the next view.
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
