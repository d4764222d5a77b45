// Open and close all parts at once, and find nodes and parts by their texts.
import { h } from "./dom.js";
import { madeOf } from "./states.js";
import { grouped, shapeWords } from "./values.js";

export const MOST_BOXES = 500; // "Expand all" stops before more boxes than this

const SHAPE = /([[(])?(\d+(?:\s*[,x×]\s*\d+)+|(?<=[[(])\d+)\s*,?\s*[\])]?/g;

// Split a search into words and shapes: (64, 3, 7, 7) is the whole shape, 64x3 a part of one.
function askedFor(text) {
  const shapes = [];
  const rest = text.toLowerCase().replace(SHAPE, (_, bracket, sizes) => {
    shapes.push({ sizes: sizes.split(/\D+/).map(Number), whole: Boolean(bracket) });
    return " ";
  });
  return { terms: rest.split(/\s+/).filter(Boolean), shapes };
}

function fits(shape, { sizes, whole }) {
  if (!shape || (whole && shape.length !== sizes.length)) return false;
  return shape.some((_, i) => sizes.every((size, k) => shape[i + k] === size));
}

export class Finder {
  // actions: show(id) opens the parts that hide a node or part and focuses it; open(ids) opens exactly these parts.
  constructor(trace, folding, actions) {
    Object.assign(this, { trace, folding, actions, found: [], at: -1 });
    this.input = h("input", {
      type: "search",
      "aria-label": "Search",
      placeholder: "name, operation, module, shape, dtype",
      title: "Finds nodes by name, operation, grad_fn, module, dtype or shape: (64, 3, 7, 7) (Enter; then n and N go on)",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.look(),
      onkeydown: (event) => this.onKey(event),
    });
    this.count = h("span", { class: "al-matches", "aria-live": "polite" });
    this.note = h("span", { class: "al-note", "aria-live": "polite" });
    const button = (name, title, text, onclick) => h("button", { type: "button", "aria-label": name, title, text, onclick });
    this.steps = [
      button("Previous match", "Previous match (N)", "‹", () => this.go(-1)),
      button("Next match", "Next match (n)", "›", () => this.go(1)),
    ];
    this.element = h(
      "div",
      { class: "al-bar al-finder", role: "toolbar", "aria-label": "Parts and search" },
      folding.parts.length
        ? h(
            "div",
            { class: "al-buttons" },
            h("button", { type: "button", text: "Expand all", onclick: () => this.openAll() }),
            h("button", { type: "button", text: "Collapse all", onclick: () => this.closeAll() }),
          )
        : null,
      h("div", { class: "al-buttons al-search" }, this.input, ...this.steps, this.count),
      this.note,
    );
    this.look();
  }

  // Open parts from the outside in, as long as the picture stays manageable.
  openAll() {
    const { parts, chains } = this.folding, depths = [...new Set(parts.map(({ id }) => chains.get(id).length))];
    let open = [];
    for (const depth of depths.sort((a, b) => a - b)) {
      const more = parts.map(({ id }) => id).filter((id) => chains.get(id).length <= depth);
      if (this.folding.fold(new Set(more)).boxes.size > MOST_BOXES) break;
      open = more;
    }
    this.say(open.length < parts.length ? `${grouped(parts.length - open.length)} parts stay closed: all would be too many to see.` : "");
    this.actions.open(open);
  }

  closeAll() {
    this.say("");
    this.actions.open([]);
  }

  say(text) {
    this.note.textContent = text;
  }

  look() {
    const { terms, shapes } = askedFor(this.input.value);
    const hit = ({ words, shape }) => terms.every((term) => words.includes(term)) && shapes.every((wanted) => fits(shape, wanted));
    this.found = terms.length + shapes.length ? this.entries().filter(hit).map(({ id }) => id) : [];
    this.at = -1;
    this.tell();
  }

  entries() {
    this.known ??= [
      ...this.folding.parts.map(({ id, label, type, shape }) => [id, shape, label, type]),
      ...this.trace.nodes.map((node) => [node.id, node.shape, madeOf(node), node.name, node.op, node.grad_fn, node.module, node.dtype, shapeWords(node.shape)]),
    ].map(([id, shape, ...words]) => ({ id, shape, words: words.join("\n").toLowerCase() }));
    return this.known;
  }

  go(way) {
    if (!this.found.length) return;
    const count = this.found.length;
    this.at = this.at < 0 ? (way > 0 ? 0 : count - 1) : (this.at + way + count) % count;
    this.tell();
    this.actions.show(this.found[this.at]);
  }

  tell() {
    const count = this.found.length, all = `${grouped(count)} match${count === 1 ? "" : "es"}`;
    this.count.textContent = !this.input.value.trim() ? "" : this.at < 0 ? all : `${grouped(this.at + 1)} of ${all}`;
    for (const button of this.steps) button.disabled = !count;
  }

  onKey(event) {
    if (event.key === "Enter") this.go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && this.input.value) {
      this.input.value = "";
      this.look();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  keys() {
    return this.found.length ? { n: () => this.go(1), "Shift+N": () => this.go(-1) } : {};
  }
}
