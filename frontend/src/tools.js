// What is rarely needed, behind one button: a dialog that does not keep the graph from being used. Each tool is a file of its own.
import { h } from "./dom.js";
import { icon } from "./controls.js";
import { Address } from "./address.js";
import { Alive } from "./alive.js";
import { Colouring } from "./colour.js";
import { Exports } from "./export.js";
import { Focus } from "./focus.js";
import { MiniMap } from "./map.js";

const LINES = "M2 4h7v2H2zM13 4h1v2h-1zM9 2h3v6H9zM2 10h1v2H2zM7 10h7v2H7zM3 8h3v6H3z";

export class Tools {
  constructor(view) {
    this.view = view;
    this.focus = new Focus(view, () => this.close());
    this.map = new MiniMap(view.pane);
    this.button = h("button", { type: "button", "aria-haspopup": "dialog", "aria-expanded": "false", title: "Tools", "aria-label": "Tools", onclick: () => this.toggle() }, icon(LINES));
    this.colouring = new Colouring(view, () => this.recoloured());
    this.alive = new Alive(view);
    this.sections = [this.focus, this.colouring, ...(this.alive.known ? [this.alive] : []), new Exports(view)];
    this.panel = h(
      "div",
      { class: "al-tools", role: "dialog", "aria-label": "Tools", tabindex: "-1", hidden: true, onkeydown: (event) => this.onKey(event) },
      this.sections.map(({ element }) => element),
      view.whatIf.button,
    );
    this.element = h("div", { class: "al-toolbox" }, this.button, this.panel);
    this.element.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !this.element.contains(relatedTarget) && this.close());
    this.bar = this.focus.bar;
    if (view.alone && !window.Reveal) this.address = new Address(view); // slides have an address of their own
  }

  // `root`: the explorer's element; a press anywhere else in it closes the dialog.
  listen(root) {
    root.addEventListener("pointerdown", (event) => !this.element.contains(event.target) && this.close());
    this.focus.listen(root);
    this.alive.join(this.view.controls.slider);
  }

  leave() {
    this.address?.leave();
  }

  toggle() {
    if (!this.panel.hidden) return this.close();
    this.panel.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    for (const section of this.sections) section.refresh?.();
    this.place();
    this.panel.querySelector("button:not(:disabled), select, input").focus({ preventScroll: true });
  }

  // Below its button, within the explorer.
  place() {
    this.panel.style.left = "0";
    const room = this.view.root.getBoundingClientRect(), box = this.panel.getBoundingClientRect();
    this.panel.style.left = `${Math.max(room.left + 12 - box.left, Math.min(0, room.right - 12 - box.right))}px`;
  }

  close() {
    this.panel.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  // Keys that are pressed in the dialog do there what they always do, and step nothing.
  onKey(event) {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    this.close();
    this.button.focus();
  }

  keys() {
    return this.focus.keys();
  }

  // There is a new picture: after opening, closing, turning.
  drawn() {
    this.map.draw(this.view.graph);
    this.colouring.drawn();
    this.focus.show();
    this.address?.begin();
  }

  recoloured() {
    if (this.view.graph) this.view.fit(); // the legend takes room
    this.view.update(false);
  }

  update(index, now) {
    this.alive.update(index);
    this.colouring.update(index, now);
    this.map.update();
    this.address?.write();
  }
}
