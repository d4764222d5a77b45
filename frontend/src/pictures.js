// Formula cards and pictures of convolution, pooling and normalisation nodes. trace/pictures.py selects, reduces and
// describes the data; here it is only shown at the right step.
import { h, svgEl } from "./dom.js";
import { color, inkOn, scaleBar, short } from "./values.js";

const KERNEL_SIDE = 56,
  MAP_SIDE = 76,
  WINDOW_SIDE = 156;
const ROW = 30,
  CHART = 330,
  CHART_LEFT = 96;

// Return [map][row][column] of a panel; a byte of -128 stands for a number that is not finite.
export function valuesOf(panel) {
  if (panel.numbers) return panel.numbers;
  const [maps, rows, columns] = panel.shape,
    bytes = Int8Array.from(atob(panel.bytes), (c) => c.charCodeAt(0));
  const at = (m, r, c) => {
    const byte = bytes[(m * rows + r) * columns + c];
    return byte === -128 ? "nan" : (byte / 127) * panel.scale;
  };
  const list = (length, make) => Array.from({ length }, (_, i) => make(i));
  return list(maps, (m) => list(rows, (r) => list(columns, (c) => at(m, r, c))));
}

export class Pictures {
  constructor(trace, formula) {
    Object.assign(this, { trace, formula });
    this.made = new Map();
    this.arrival = new Map();
    this.cardOpen = true;
  }

  // Create each card and picture only once, so that open tables and the focus stay during a step.
  once(key, make) {
    if (!this.made.has(key)) this.made.set(key, make());
    return this.made.get(key);
  }

  reached(node, part, index) {
    if (!part.run) return true;
    const sent = (f) => f.event === "contribution" && f.node === node.id && f.run === part.run;
    const comes = (f) => sent(f) && (part.edge === null || f.edge === part.edge);
    if (!this.arrival.has(part)) this.arrival.set(part, this.trace.frames.findIndex(comes)); // searches all frames, once
    const arrival = this.arrival.get(part);
    return arrival >= 0 && arrival <= index;
  }

  // Return the section of a node after step `index`, null for nodes without cards. `known`: whether it has been
  // computed.
  view(node, index, known) {
    const layer = node.layer;
    if (!layer) return null;
    const shown = known ? layer.panels.filter((panel) => this.reached(node, panel, index)) : [],
      later = known && layer.panels.some((panel) => !this.reached(node, panel, index));
    return h(
      "section",
      { class: "al-layer", role: "group", "aria-label": `${layer.kind}: card and pictures` },
      h("h2", { text: `${layer.kind[0].toUpperCase()}${layer.kind.slice(1)} ${node.label}` }),
      h("p", { class: "al-note", text: layer.names }),
      h("div", { class: "al-panels" }, shown.map((panel) => this.panel(panel, node, index))),
      later ? h("p", { class: "al-note", text: "Gradients follow when their step has come." }) : null,
      known ? layer.missing.map((text) => h("p", { class: "al-note", text })) : null,
      this.cardButton(node),
      layer.card.length ? this.card(node) : null,
    );
  }

  // -- the card -----------------------------------------------------------------------------------------------------
  cardButton(node) {
    if (!node.layer.card.length) return null;
    const button = this.once(`${node.id} button`, () =>
      h("button", { type: "button", class: "al-small", text: "Formula card", onclick: () => this.toggleCard(node) }),
    );
    button.setAttribute("aria-expanded", String(this.cardOpen));
    return button;
  }

  toggleCard(node) {
    this.cardOpen = !this.cardOpen;
    this.cardButton(node);
    this.card(node);
  }

  card(node) {
    const layer = node.layer;
    const line = ([name, text, tex]) =>
      h("div", { class: "al-cardline" }, h("dt", { text: name }), h("dd", {}, text, this.formula(tex)));
    const card = this.once(`${node.id} card`, () => h("div", { class: "al-cardbox", role: "group", "aria-label": "Formula card" }));
    card.hidden = !this.cardOpen;
    if (this.cardOpen && !card.childElementCount)
      card.append(h("dl", {}, layer.card.map(line)));
    return card;
  }

  panel(panel, node, index) {
    return panel.type === "maps" ? this.maps(panel) : this.statistics(panel, node, index);
  }

  // -- heat maps ----------------------------------------------------------------------------------------------------
  maps(panel) {
    return this.once(panel, () => {
      const values = valuesOf(panel),
        [, rows, columns] = panel.shape;
      const wanted = panel.marks.length || panel.windows.length ? WINDOW_SIDE : panel.what === "w" ? KERNEL_SIDE : MAP_SIDE;
      const cell = Math.max(1, Math.floor(wanted / Math.max(rows, columns)));
      const one = (map, i) =>
        h(
          "div",
          { class: "al-map" },
          h(
            "div",
            { class: "al-over", style: `width:${cell * columns}px;height:${cell * rows}px` },
            heatMap(map, panel.scale),
            overlay(panel, i, rows, columns),
          ),
          h("div", { class: "al-mapname", text: panel.names[i] }),
        );
      const grid = h(
        "div",
        { class: "al-maps", role: "img", "aria-label": panel.label },
        values.map(one),
      );
      const across = panel.columns || (wanted === WINDOW_SIDE ? 2 : 4);
      grid.style.gridTemplateColumns = `repeat(${Math.min(across, values.length)}, max-content)`;
      return h(
        "figure",
        { class: `al-panel${panel.run ? " al-came-back" : ""}` },
        h("figcaption", {}, h("b", { text: panel.title }), h("span", { class: "al-note", text: panel.caption })),
        h("div", { class: "al-scroll" }, grid),
        h("div", { class: "al-under" }, scaleBar(panel.scale), panel.numbers ? numbersButton(panel) : null),
      );
    });
  }

  // -- statistics ---------------------------------------------------------------------------------------------------
  statistics(panel, node, index) {
    const columns = panel.columns.filter((column) => this.reached(node, column, index));
    const head = columns.map((column) =>
      h("th", { scope: "col", class: column.used ? "al-usedcolumn" : null }, column.name, column.used ? h("div", { text: "used" }) : null),
    );
    const row = (name, i) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", text: name }),
        columns.map((column) => h("td", { class: column.used ? "al-usedcolumn" : null, text: short(column.values[i]) })),
      );
    return h(
      "figure",
      { class: "al-panel" },
      h("figcaption", {}, h("b", { text: panel.title }), h("span", { class: "al-note", text: panel.caption })),
      panel.intervals.length ? this.once(panel, () => intervals(panel)) : null,
      h(
        "div",
        { class: "al-scroll" },
        h(
          "table",
          { class: "al-numbers", "aria-label": panel.title },
          h("thead", {}, h("tr", {}, h("td", {}), head)),
          h("tbody", {}, panel.names.map(row)),
        ),
      ),
    );
  }
}

export function heatMap(map, scale) {
  const canvas = h("canvas", { class: "al-pixels", width: map[0].length, height: map.length }),
    context = canvas.getContext("2d"),
    image = context.createImageData(map[0].length, map.length);
  map.flat().forEach((value, i) => {
    const hex = color(value, scale);
    image.data.set([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)), 4 * i);
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// Draw frames around pooling windows, and dots on their maxima: black with a white rim, visible on every colour.
function overlay(panel, i, rows, columns) {
  if (!panel.windows.length && !panel.marks.length) return null;
  const frames = panel.windows.map(([top, left, height, width]) => `M${left} ${top}h${width}v${height}h${-width}z`).join("");
  const dots = (panel.marks[i] ?? []).map(([row, column, won]) =>
    svgEl("circle", { class: "al-winner", cx: column + 0.5, cy: row + 0.5, r: won > 1 ? 0.36 : 0.22, "data-won": won }),
  );
  return svgEl(
    "svg",
    { class: "al-lay", "aria-hidden": "true", viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none" },
    frames ? svgEl("path", { class: "al-windows", d: frames }) : null,
    dots,
  );
}

function numbersButton(panel) {
  const box = h("div", { class: "al-scroll", hidden: true });
  const button = h("button", {
    type: "button",
    class: "al-small",
    "aria-expanded": "false",
    text: "Show numbers",
    onclick: () => {
      box.hidden = !box.hidden;
      button.setAttribute("aria-expanded", String(!box.hidden));
      button.textContent = box.hidden ? "Show numbers" : "Hide numbers";
      if (!box.childElementCount) box.append(...panel.numbers.map((map, i) => numbersTable(panel, map, i)));
    },
  });
  return [button, box];
}

function numbersTable(panel, map, i) {
  const cell = (value) => {
    const background = color(value, panel.scale);
    return h("td", { style: `background:${background};color:${inkOn(background)}`, title: String(value), text: short(value) });
  };
  return h(
    "table",
    { class: "al-heat", "aria-label": `${panel.title}, ${panel.names[i]}` },
    h("caption", { text: panel.names[i] }),
    h("tbody", {}, map.map((row) => h("tr", {}, row.map(cell)))),
  );
}

// Draw for each row of the table its mean, and one standard deviation to both sides; the used values are solid.
function intervals(panel) {
  const values = new Map(panel.columns.map((column) => [column.name, column]));
  const sets = panel.intervals.map(([mean, variance]) => ({
    name: mean.replace(/ ?mean/, "") || "own",
    used: values.get(mean).used,
    ends: panel.names.map((_, i) => {
      const [m, s] = [values.get(mean).values[i], Math.sqrt(values.get(variance).values[i])];
      return Number.isFinite(m) && Number.isFinite(s) ? [m - s, m, m + s] : null;
    }),
  }));
  const all = sets.flatMap((set) => set.ends.filter(Boolean).flat()),
    [low, high] = [Math.min(0, ...all), Math.max(0, ...all)],
    x = (v) => CHART_LEFT + 8 + ((v - low) / (high - low || 1)) * (CHART - CHART_LEFT - 16);
  const height = panel.names.length * ROW + 22;
  const bar = (set, k, i) => {
    if (!set.ends[i]) return null;
    const y = i * ROW + 9 + k * 11,
      [from, middle, to] = set.ends[i].map(x);
    return svgEl(
      "g",
      { class: set.used ? "al-span al-span-used" : "al-span" },
      svgEl("path", { d: `M${from} ${y}H${to}M${from} ${y - 4}v8M${to} ${y - 4}v8` }),
      svgEl("circle", { cx: middle, cy: y, r: 4 }),
    );
  };
  const key = (set) =>
    h("li", {}, h("span", { class: `al-key al-key-span${set.used ? " al-key-span-used" : ""}`, "aria-hidden": "true" }),
      `${set.name}${set.used ? ", used" : ", not used"}`);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "al-scroll" },
      svgEl(
        "svg",
        { class: "al-spans", viewBox: `0 0 ${CHART} ${height}`, width: CHART, height, role: "img", "aria-label": panel.label },
        svgEl("path", { class: "al-zero", d: `M${x(0)} 0V${height - 18}` }),
        svgEl("text", { x: x(0), y: height - 4, "text-anchor": "middle", text: "0" }),
        panel.names.map((name, i) => [
          svgEl("text", { x: 0, y: i * ROW + 18, text: name }),
          sets.map((set, k) => bar(set, k, i)),
        ]),
      ),
    ),
    h("ul", { class: "al-legend", "aria-label": "Legend" }, sets.map(key), h("li", { text: "mean, and one standard deviation to both sides" })),
  );
}
