// The zoom of the graph and its visible part: buttons, keys, wheel with Ctrl, dragging.
import { clamp } from "./dom.js";

const LEAST = 0.1, MOST = 4, STEP = 1.2, PAN = 90;

export class Camera {
  // `resize()` redraws the graph at the present zoom; `place()` returns its position then (a DOMRect).
  constructor(pane, resize, place) {
    Object.assign(this, { pane, resize, place, zoom: 1 });
    pane.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    pane.addEventListener("pointerdown", (event) => this.onDown(event));
    // The click at the end of a drag must not open anything.
    pane.addEventListener("click", (event) => this.dragged && event.stopPropagation(), { capture: true });
  }

  // 1: in, -1: out, 0: show everything.
  step(way) {
    if (way === 0) {
      this.zoom = "fit";
      this.resize();
    } else this.by(way > 0 ? STEP : 1 / STEP);
  }

  // Multiply the scale; the point `at` (page coordinates; default: the pane's middle) stays in place.
  by(factor, at = this.middle()) {
    const before = this.place();
    const now = this.zoom === "fit" ? this.fitted() : this.zoom;
    this.zoom = clamp(now * factor, LEAST, MOST);
    this.resize();
    const after = this.place();
    const moved = (side, size, point) => after[side] + ((point - before[side]) / before[size]) * after[size] - point;
    this.pane.scrollBy(moved("left", "width", at[0]), moved("top", "height", at[1]));
  }

  middle() {
    const box = this.pane.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }

  // Return the zoom that looks like the present "fit".
  fitted() {
    const { width } = this.place();
    this.zoom = 1;
    this.resize();
    return width / this.place().width;
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.by(Math.exp(-clamp(event.deltaY, -100, 100) / 400), [event.clientX, event.clientY]);
  }

  onDown(event) {
    this.dragged = false;
    if (event.button || event.pointerType === "touch") return; // fingers scroll the pane by themselves
    const { pane } = this, from = [event.clientX, event.clientY], seen = [pane.scrollLeft, pane.scrollTop];
    const move = (now) => {
      const by = [now.clientX - from[0], now.clientY - from[1]];
      if (!this.dragged && Math.hypot(...by) < 5) return;
      this.dragged = true;
      pane.classList.add("al-dragging");
      pane.scrollTo(seen[0] - by[0], seen[1] - by[1]);
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      pane.classList.remove("al-dragging");
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  // For `onKey`: arrows alone step, so panning needs Shift.
  keys() {
    const pan = (x, y) => () => this.pane.scrollBy({ left: x * PAN, top: y * PAN });
    return {
      "+": () => this.step(1),
      "=": () => this.step(1),
      "-": () => this.step(-1),
      0: () => this.step(0),
      "Shift+ArrowUp": pan(0, -1),
      "Shift+ArrowDown": pan(0, 1),
    };
  }
}
