// How the graph is looked at: the direction it is drawn in.
import { h } from "./dom.js";
import { icon } from "./controls.js";

const TURNED = {
  TB: ["Left to right", "M2 7v2h8v3l4-4-4-4v3z"],
  LR: ["Top to bottom", "M7 2h2v8h3l-4 4-4-4h3z"],
};

// The button that turns the graph.
export class Turning {
  constructor(turn) {
    this.element = h("button", { type: "button", onclick: turn });
  }

  update(rankdir) {
    const [name, path] = TURNED[rankdir];
    this.element.title = name;
    this.element.setAttribute("aria-label", name);
    this.element.replaceChildren(icon(path));
  }
}
