// The graph is one tab stop. Within it, up and down follow the lines; a box's name is announced together with its
// neighbours.

const MOST_SAID = 5; // names said

export class Walk {
  constructor(graph) {
    this.graph = graph;
    this.stops = [...graph.svg.querySelectorAll(".al-node, .al-header")];
    this.byKey = new Map([...graph.cards, ...graph.parts].map(({ g }) => [g.dataset.key, g]));
    this.part = ""; // the closed or open part that was focused last; a focused node is selected
    this.ways = { ArrowDown: new Map(), ArrowUp: new Map() };
    for (const { start, end } of graph.links.values()) {
      this.put("ArrowDown", start, end);
      this.put("ArrowUp", end, start);
    }
    for (const g of this.stops) {
      g.setAttribute("tabindex", "-1");
      g.addEventListener("focus", () => this.enter(g)); // one listener on the whole would make that a tab stop, too
    }
    this.stop(this.stops[0]);
  }

  put(way, from, to) {
    const map = this.ways[way], [start, end] = [from, to].map((key) => this.byKey.get(key));
    if (!map.has(start)) map.set(start, []);
    if (!map.get(start).includes(end)) map.get(start).push(end);
  }

  // Return the element that the Tab key reaches.
  stop(g) {
    this.at?.setAttribute("tabindex", "-1");
    this.at = g;
    g?.setAttribute("tabindex", "0");
  }

  enter(g) {
    if (g !== this.at) this.stop(g);
    this.part = this.graph.folding.isPart(g.dataset.id) ? g.dataset.id : "";
    g.setAttribute("aria-description", this.said(g));
  }

  said(g) {
    const list = (way) => (this.ways[way].get(g) ?? []).map((to) => to.querySelector(".al-title").textContent);
    const words = (before, names) => (names.length ? `${before} ${names.slice(0, MOST_SAID).join(", ")}${names.length > MOST_SAID ? ` and ${names.length - MOST_SAID} more` : ""}` : "");
    const asked = g.querySelector(".al-question") ? "the question is about it" : "";
    return [asked, words("from", list("ArrowUp")), words("to", list("ArrowDown")), g.dataset.said ?? ""].filter(Boolean).join("; ");
  }

  // `key`: "ArrowUp" or "ArrowDown" along a line, "PageUp" or "PageDown" in forward order, "o" to the next of several
  // possible targets of the last arrow.
  go(key, from) {
    const seen = (g) => !g.classList.contains("al-aside");
    if (key === "o") {
      if (this.choice?.includes(from)) this.choice[(this.choice.indexOf(from) + 1) % this.choice.length].focus();
    } else if (this.ways[key] && !from.matches(".al-header")) {
      const found = (this.ways[key].get(from) ?? []).filter(seen), back = found.includes(this.came) ? this.came : found[0];
      if (!back) return;
      this.choice = found;
      this.came = from;
      back.focus();
    } else {
      const all = this.stops.filter((g) => seen(g) || g === from);
      all[all.indexOf(from) + (/Up$/.test(key) ? -1 : 1)]?.focus();
    }
  }
}
