// The receptive field: the image and every feature map in a row, each with a frame around what reaches the chosen
// number. The frames are computed here from the data of field.py, without a kernel.
import { HOLDS_STOPS, clamp, followTheme, h, rootIn } from "./dom.js";
import { scaleBar, short } from "./values.js";
import { heatMap, valuesOf } from "./pictures.js";
import { entry } from "./entry.js";

const SIDE = 176;

// Return [first row, last row, first column, last column] in every map up to the chosen one; same as `field` in
// field.py.
export function fieldOf(maps, [number, row, column]) {
  const found = [[row, row, column, column]];
  for (const layer of maps.slice(1, number + 1).reverse()) {
    const [top, bottom, left, right] = found[0];
    found.unshift([layer.rows[top][0], layer.rows[bottom][1], layer.columns[left][0], layer.columns[right][1]]);
  }
  return found;
}

function plane(part, size) {
  return part.numbers ?? valuesOf({ ...part, shape: [1, size[1], size[2]] })[0];
}

// Return "rows 2 to 5" or "row 3".
function span(word, from, to) {
  return from === to ? `${word} ${from}` : `${word}s ${from} to ${to}`;
}

class Field {
  constructor(model, el) {
    this.model = model;
    this.data = model.get("data");
    const shadow = rootIn(el);
    this.said = h("p", { class: "al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
    this.maps = this.data.maps.map((map, number) => this.map(map, number));
    this.influence = h("div", { class: "al-influence" });
    this.sizes = h("div", { class: "al-scroll" });
    this.root = h(
      "div",
      { class: "al al-fields", role: "group", "aria-label": "Receptive field" },
      this.said,
      h("div", { class: "al-stage", ...HOLDS_STOPS }, this.maps.map((map) => map.element)),
      h("div", { class: "al-low" }, this.influence, this.sizes),
    );
    shadow.replaceChildren(h("style", { text: STYLE }), this.root);
    const update = () => this.update(), forget = followTheme(el, this.root);
    model.on("change:selected", update);
    this.leave = () => {
      model.off("change:selected", update);
      forget();
    };
    this.update();
  }

  map(map, number) {
    const [channels, rows, columns] = map.size,
      cell = Math.max(2, Math.floor(SIDE / Math.max(rows, columns))),
      frame = h("div", { class: "al-frame", "aria-hidden": "true" });
    const box = h(
      "div",
      {
        class: "al-over al-choose",
        role: "slider",
        tabindex: "0",
        "aria-label": `Place in ${map.name}`,
        "aria-valuemin": 0,
        "aria-valuemax": rows * columns - 1,
        style: `width:${cell * columns}px;height:${cell * rows}px`,
        onclick: (event) => {
          const at = event.currentTarget.getBoundingClientRect();
          this.choose(number, Math.floor((event.clientY - at.top) / cell), Math.floor((event.clientX - at.left) / cell));
        },
        onkeydown: (event) => this.onKey(event, number),
      },
      heatMap(plane(map, map.size), map.scale),
      frame,
    );
    const words = h("div", { class: "al-note" });
    const head = `${channels} × ${rows} × ${columns}`;
    const element = h(
      "div",
      { class: "al-map" },
      h("div", { class: "al-gridname", text: map.name }),
      box,
      h("div", { class: "al-mapname", text: channels > 1 ? `${head}, channel ${number ? this.data.channel : 0}` : head }),
      scaleBar(map.scale),
      words,
    );
    return { element, box, frame, words, cell };
  }

  choose(number, row, column) {
    const [, rows, columns] = this.data.maps[number].size;
    this.model.set("selected", [number, clamp(row, 0, rows - 1), clamp(column, 0, columns - 1)]);
    this.model.save_changes();
  }

  // The arrow keys move the position in this map; in a map other than the chosen one, they start from the middle of
  // its frame.
  onKey(event, number) {
    const go = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Enter: [0, 0], " ": [0, 0] }[event.key];
    if (!go || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const selected = this.model.get("selected"),
      field = fieldOf(this.data.maps, selected)[number];
    const [row, column] =
      selected[0] === number
        ? selected.slice(1)
        : field
          ? [(field[0] + field[1]) >> 1, (field[2] + field[3]) >> 1]
          : [0, 0];
    this.choose(number, row + go[0], column + go[1]);
  }

  update() {
    const selected = this.model.get("selected"),
      { maps } = this.data,
      field = fieldOf(maps, selected);
    this.maps.forEach(({ frame, words, box, cell }, number) => {
      const here = field[number];
      frame.hidden = !here;
      box.parentElement.classList.toggle("al-after", !here);
      words.textContent = here ? `${span("row", here[0], here[1])}, ${span("column", here[2], here[3])}` : "comes later";
      const [, , columns] = maps[number].size;
      const chosen = number === selected[0];
      frame.className = `al-frame ${chosen ? "al-frame-now" : "al-frame-field"}`;
      box.setAttribute("aria-valuenow", here ? here[0] * columns + here[2] : 0);
      box.setAttribute("aria-valuetext", words.textContent);
      if (!here) return;
      const [top, bottom, left, right] = here;
      Object.assign(frame.style, {
        top: `${top * cell}px`,
        left: `${left * cell}px`,
        height: `${(bottom - top + 1) * cell}px`,
        width: `${(right - left + 1) * cell}px`,
      });
    });
    const [top, bottom, left, right] = field[0],
      [, height, width] = maps[0].size,
      count = (bottom - top + 1) * (right - left + 1);
    this.said.textContent =
      `[${selected[1]}, ${selected[2]}] of ${maps[selected[0]].name} sees ${span("row", top, bottom)} and ` +
      `${span("column", left, right)} of the image: ${count} of ${height * width} pixels.`;
    this.showInfluence(selected, field[0]);
    this.showSizes(selected, field);
  }

  // Show how much each pixel within the field mattered: the gradient of the chosen number.
  showInfluence(selected, [top, bottom, left, right]) {
    const { maps, gradients } = this.data,
      [, , columns] = maps[selected[0]].size;
    const part = selected[0] === maps.length - 1 ? gradients[selected[1] * columns + selected[2]] : null;
    if (!part) {
      const why = gradients.length ? "Choose a number of the last map to see its gradient." : "No gradient is kept for so large a map.";
      this.influence.replaceChildren(h("p", { class: "al-note", text: why }));
      return;
    }
    const [, height, width] = maps[0].size,
      values = plane(part, maps[0].size),
      cell = this.maps[0].cell;
    const text = part.count
      ? `Gradient of the chosen number at the image, magnitudes summed over channels: ${part.count} pixels have one, the largest is ${short(part.scale)}.`
      : "Gradient of the chosen number at the image: 0 everywhere. On every way back something is flat, such as a ReLU below 0.";
    const frame = h("div", { class: "al-frame al-frame-field", "aria-hidden": "true" });
    Object.assign(frame.style, {
      top: `${top * cell}px`,
      left: `${left * cell}px`,
      height: `${(bottom - top + 1) * cell}px`,
      width: `${(right - left + 1) * cell}px`,
    });
    this.influence.replaceChildren(
      h("div", { class: "al-gridname", text: "gradient at the image" }),
      h(
        "div",
        { class: "al-over", role: "img", "aria-label": "Gradient at the image", style: `width:${cell * width}px;height:${cell * height}px` },
        heatMap(values, part.scale),
        frame,
      ),
      scaleBar(part.scale),
      h("p", { class: "al-note", text }),
    );
  }

  showSizes(selected, field) {
    const row = (map, number) => {
      const here = field[number],
        size = here ? `${here[1] - here[0] + 1} × ${here[3] - here[2] + 1}` : "";
      return h(
        "tr",
        {},
        h("th", { scope: "row", text: map.name }),
        h("td", { text: `${map.size[1]} × ${map.size[2]}` }),
        h("td", { text: size }),
      );
    };
    this.sizes.replaceChildren(
      h(
        "table",
        { class: "al-numbers", "aria-label": "Sizes" },
        h("thead", {}, h("tr", {}, ["map", "size", "frame"].map((text) => h("th", { scope: "col", text })))),
        h("tbody", {}, this.data.maps.map(row)),
      ),
    );
  }
}

export default entry(Field);
