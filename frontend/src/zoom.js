// How large the graph is drawn, and which part of it is seen: buttons, keys, the wheel with Ctrl, dragging.
import { clamp } from "./dom.js";

const LEAST = 0.1, MOST = 4, STEP = 1.2, PAN = 90;

export class Camera {
  // `resize()` draws the graph anew at the zoom there is now; `size()` is its width then.
  constructor(pane, resize, size) {
    Object.assign(this, { pane, resize, size, zoom: 1 });
    pane.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    pane.addEventListener("pointerdown", (event) => this.onDown(event));
    // A click that ends a drag opens nothing.
    pane.addEventListener("click", (event) => this.dragged && event.stopPropagation(), { capture: true });
  }

  // 1: in, -1: out, 0: everything is seen.
  step(way) {
    if (way === 0) {
      this.zoom = "fit";
      this.resize();
    } else this.by(way > 0 ? STEP : 1 / STEP);
  }

  // Multiplies the scale; what is at `at` (pixels from the pane's corner; its middle) stays there.
  by(factor, at = [this.pane.clientWidth / 2, this.pane.clientHeight / 2]) {
    const { pane } = this, before = this.size();
    const place = [pane.scrollLeft + at[0], pane.scrollTop + at[1]];
    const now = this.zoom === "fit" ? this.fitted() : this.zoom;
    this.zoom = clamp(now * factor, LEAST, MOST);
    this.resize();
    const grown = this.size() / before;
    pane.scrollTo(place[0] * grown - at[0], place[1] * grown - at[1]);
  }

  // The zoom that looks as "fit" does now.
  fitted() {
    const width = this.size();
    this.zoom = 1;
    this.resize();
    return width / this.size();
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.pane.getBoundingClientRect();
    this.by(Math.exp(-clamp(event.deltaY, -100, 100) / 400), [event.clientX - box.left, event.clientY - box.top]);
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

  // For `onKey`: arrows alone step, so Shift is held to pan.
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
