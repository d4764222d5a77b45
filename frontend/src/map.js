// A small map of the whole graph, with the visible part marked; shown only if the graph is larger than its pane.
import { clamp, h, svgEl } from "./dom.js";
import { LEAST_SCALE } from "./graph.js";

const WIDE = [26, 56], HIGH = [24, 36]; // px: minimum and maximum size of a map beside the graph, and of one below it
const MUCH = 1.06; // factor: if less than this is hidden, no map is needed
const BAR = 20; // px that a scroll bar of the page may take

export class MiniMap {
  constructor(pane) {
    this.pane = pane;
    this.svg = svgEl("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
    const look = { class: "al-map", role: "slider", tabindex: "0", hidden: true, "aria-label": "Map", "aria-valuemin": 0, "aria-valuemax": 100, title: "Map: drag, or press arrows" };
    this.element = h("div", { ...look, onkeydown: (event) => this.onKey(event), onpointerdown: (event) => this.onDown(event) }, this.svg);
    this.box = h("div", { class: "al-view" }, pane, this.element);
    pane.addEventListener("scroll", () => (this.asked ??= requestAnimationFrame(() => this.see())));
  }

  draw(graph) {
    this.graph = graph;
    this.boxes = [];
    if (!graph) return this.svg.replaceChildren();
    const frames = graph.headers.map(() => svgEl("rect", { class: "al-mapframe" })), seen = (this.view = svgEl("rect", { class: "al-mapview" }));
    this.boxes = [...graph.cards, ...graph.parts].map(({ g }) => ({ g, rect: svgEl("rect", { width: g.dataset.w, height: g.dataset.h }) }));
    this.frames = graph.headers.map(({ frame }, i) => [frame, frames[i]]);
    this.svg.replaceChildren(...frames, ...this.boxes.map(({ rect }) => rect), seen);
    this.direction = null;
  }

  // Show the map if it is needed; return whether the graph has less room because of it. The decision stays while only
  // a page scroll bar appears or disappears, which the map itself may cause.
  fit(zoom) {
    const { pane, element, box, graph, found } = this, { width, height } = graph.size(), wide = box.clientWidth;
    const about = [graph, graph.direction, zoom, pane.style.maxHeight];
    if (!found || Math.abs(found.wide - wide) > BAR || about.some((item, i) => item !== found.about[i])) {
      element.hidden = true;
      box.className = "al-view";
      const across = pane.scrollWidth > pane.clientWidth * MUCH, down = pane.scrollHeight > pane.clientHeight * MUCH;
      this.found = { about, wide, needed: across || down, below: across && (!down || width / height > pane.clientWidth / pane.clientHeight) };
    }
    const { needed, below } = this.found;
    if (!needed) return false;
    box.classList.add(below ? "al-mapbelow" : "al-mapbeside");
    element.hidden = false;
    const spare = clamp(box.clientWidth - 10 - width * LEAST_SCALE, ...WIDE); // a graph that just fits should not have to scroll because of its map
    const size = below ? [box.clientWidth, clamp((box.clientWidth * height) / width, ...HIGH)] : [clamp((pane.clientHeight * width) / height, WIDE[0], spare), pane.clientHeight];
    element.style.width = `${Math.round(size[0])}px`;
    element.style.height = `${Math.round(size[1])}px`;
    if (below && pane.style.maxHeight) pane.style.maxHeight = `${parseFloat(pane.style.maxHeight) - Math.round(size[1]) - 6}px`;
    element.setAttribute("aria-orientation", below ? "horizontal" : "vertical");
    return true;
  }

  // Copy positions and looks of the boxes from the graph.
  update() {
    if (!this.graph || this.element.hidden) return;
    const { graph } = this;
    if (this.direction !== graph.direction) this.place();
    for (const { g, rect } of this.boxes) {
      const now = ["forward", "backward", "update"].find((phase) => g.classList.contains(`al-now-${phase}`));
      const look = ["al-mapbox", now && `al-map-${now}`, g.classList.contains("al-selected") && "al-map-selected", g.classList.contains("al-aside") && "al-aside"];
      const words = look.filter(Boolean).join(" ");
      if (rect.getAttribute("class") !== words) rect.setAttribute("class", words);
    }
  }

  place() {
    const { graph } = this, { width, height } = graph.size();
    this.direction = graph.direction;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    for (const { g, rect } of this.boxes) {
      const [x, y] = graph.centre(g.dataset.key);
      rect.setAttribute("x", x - g.dataset.w / 2);
      rect.setAttribute("y", y - g.dataset.h / 2);
    }
    for (const [frame, copy] of this.frames) for (const name of ["x", "y", "width", "height"]) copy.setAttribute(name, frame.getAttribute(name));
  }

  // Mark the visible part of the graph.
  see() {
    this.asked = null;
    if (!this.graph || this.element.hidden) return;
    const { pane } = this, { scale } = this.graph, { width, height } = this.graph.size();
    const svg = this.graph.svg.getBoundingClientRect(), frame = pane.getBoundingClientRect();
    const x = Math.max(0, (frame.left - svg.left) / scale), y = Math.max(0, (frame.top - svg.top) / scale);
    const seen = { x, y, width: Math.min(width - x, pane.clientWidth / scale), height: Math.min(height - y, pane.clientHeight / scale) };
    for (const [name, value] of Object.entries(seen)) this.view.setAttribute(name, value);
    const along = this.element.getAttribute("aria-orientation") === "vertical" ? [pane.scrollTop, pane.scrollHeight - pane.clientHeight] : [pane.scrollLeft, pane.scrollWidth - pane.clientWidth];
    const part = Math.round((100 * along[0]) / Math.max(1, along[1]));
    this.element.setAttribute("aria-valuenow", part);
    this.element.setAttribute("aria-valuetext", `${part} %, ${this.names(seen)}`);
  }

  names({ x, y, width, height }) {
    const inside = this.boxes.filter(({ g }) => {
      const [left, top] = this.graph.centre(g.dataset.key);
      return left > x && left < x + width && top > y && top < y + height;
    });
    const name = ({ g }) => g.querySelector(".al-title").textContent;
    return inside.length ? `from ${name(inside[0])} to ${name(inside.at(-1))}` : "no box is seen";
  }

  onKey(event) {
    const { clientWidth: w, clientHeight: h, scrollWidth, scrollHeight } = this.pane, sideways = this.element.getAttribute("aria-orientation") !== "vertical";
    const along = (part) => (sideways ? [part * w, 0] : [0, part * h]);
    const moves = { ArrowLeft: [-w / 3, 0], ArrowRight: [w / 3, 0], ArrowUp: [0, -h / 3], ArrowDown: [0, h / 3] };
    Object.assign(moves, { PageUp: along(-1), PageDown: along(1), Home: [-scrollWidth, -scrollHeight], End: [scrollWidth, scrollHeight] });
    if (!moves[event.key] || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.pane.scrollBy(...moves[event.key]);
  }

  // Centre the view on the pressed point; dragging continues.
  onDown(event) {
    if (event.button) return;
    const { pane, element } = this, box = element.getBoundingClientRect();
    const go = ({ clientX, clientY }) =>
      pane.scrollTo(((clientX - box.left) / box.width) * pane.scrollWidth - pane.clientWidth / 2, ((clientY - box.top) / box.height) * pane.scrollHeight - pane.clientHeight / 2);
    element.setPointerCapture(event.pointerId);
    go(event);
    element.onpointermove = go;
    element.onpointerup = element.onpointercancel = () => (element.onpointermove = null);
  }
}
