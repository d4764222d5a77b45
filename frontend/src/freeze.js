// The freeze panel: the modules of a network as a tree, with a switch for each. The kernel does the work; a switch
// only asks for it (see _on_message in freeze.py). On an exported page it shows what would happen. Its host needs
// get, set, on, off and send.
import { h, followTheme, rootIn } from "./dom.js";
import { Rehearsal } from "./frozen.js";
import { entry } from "./entry.js";

const MOST_OPEN = 24, // rows that are open at first
  PATIENCE = 2500; // ms to wait for an answer of the kernel
const MODE_WORDS = { train: "train", eval: "eval", mixed: "mixed" };
const STATE_NAMES = { true: "trainable", false: "frozen", mixed: "partly" };

// Return the state of a module with everything inside it; `subtree` in freeze.py is the same function.
export function stateOf(trainable, path) {
  const states = new Set(
    Object.entries(trainable)
      .filter(([other]) => path === "" || other === path || other.startsWith(`${path}.`))
      .map(([, state]) => state),
  );
  if (!states.size) return null;
  return states.size === 1 ? [...states][0] : "mixed";
}

class Panel {
  constructor(model, el) {
    this.model = model;
    this.live = model.get("live") !== false;
    this.rehearsal = this.live ? null : new Rehearsal(model);
    this.rows = model.get("data").rows;
    const shadow = rootIn(el);
    this.status = h("p", { class: "al-hidden", role: "status", "aria-live": "polite" });
    this.alarm = h("div");
    this.grid = h("table", { class: "al-tree", role: "treegrid", "aria-label": "Layers" });
    this.facts = h("dl", { class: "al-costs" });
    this.reach = h("div", { role: "group", "aria-label": "Where backward stops" });
    this.traps = h("div", { role: "group", "aria-label": "Warnings" });
    this.root = h(
      "div",
      {
        class: "al al-freeze", role: "group",
        "aria-label": "Freeze panel. Up and down go from layer to layer, right and left open and close, space freezes.",
        onkeydown: (event) => this.onKey(event),
      },
      this.presets(),
      this.live ? null : h("p", { class: "al-why", text: "There is no network behind this page: the switches show what freezing would do." }),
      this.alarm,
      h("div", { class: "al-scroll" }, this.grid),
      h("div", { class: "al-said3" }, this.facts, this.reach, this.traps),
      this.status,
    );
    shadow.replaceChildren(h("style", { text: STYLE }), this.root);
    this.open = new Set(this.openAtFirst());
    this.build();
    this.listen(el);
    this.update();
  }

  // Open levels as long as all their rows fit.
  openAtFirst() {
    const deepest = Math.max(...this.rows.map((row) => row.level));
    let level = 1;
    while (level < deepest && this.rows.filter((row) => row.level <= level + 1).length <= MOST_OPEN) level += 1;
    return this.rows.filter((row) => row.level < Math.max(2, level) && this.parent(row)).map((row) => row.path);
  }

  parent(row) {
    return this.rows.some((other) => other !== row && this.inside(other, row));
  }

  inside(row, over) {
    return over.path === "" ? row.path !== "" : row.path.startsWith(`${over.path}.`);
  }

  presets() {
    const ask = (name) => h("button", { type: "button", text: name, onclick: () => this.ask({ kind: "preset", name }) });
    this.from = h(
      "select",
      { "aria-label": "Train from layer", onchange: () => this.fromLayer() },
      h("option", { value: "", text: "From layer…" }),
      this.rows.filter((row) => row.path && row.parameters).map((row) => h("option", { value: row.path, text: row.path })),
    );
    this.all = h("button", { type: "button", class: "al-all", onclick: () => this.openAll() });
    return h(
      "div",
      { class: "al-bar" },
      h("div", { class: "al-buttons", role: "group", "aria-label": "Train" }, h("span", { class: "al-name", text: "Train" }),
        ["Head only", "All", "None"].map(ask), this.from),
      this.all,
    );
  }

  fromLayer() {
    const path = this.from.value;
    this.from.value = "";
    if (path) this.ask({ kind: "from", path });
  }

  // The kernel answers even if nothing changes. Without a kernel no answer comes, and a switch must not seem broken.
  ask(message) {
    if (this.rehearsal) return this.rehearsal.answer(message);
    this.model.send(message);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.alert("The kernel has not answered: it is busy, or this notebook is not running."), PATIENCE);
  }

  alert(text) {
    if (this.alarm.textContent !== (text ?? "")) this.alarm.replaceChildren(text ? h("p", { class: "al-error", role: "alert", text }) : "");
  }

  build() {
    const heads = ["Layer", "Parameters", "Trainable", "Mode"].map((text) => h("th", { scope: "col", role: "columnheader", text }));
    this.lines = this.rows.map((row) => this.line(row));
    this.grid.replaceChildren(h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)),
      h("tbody", { role: "rowgroup" }, this.lines.map((line) => line.tr)));
  }

  line(row) {
    const name = row.name || "network",
      twisty = h("span", { class: "al-twisty", "aria-hidden": "true", onclick: () => this.toggle(row) }),
      mark = h("span", { class: "al-end", text: "backward ends here" }),
      turn = h("button", { type: "button", role: "switch", class: "al-switch", tabindex: "-1",
        onclick: () => this.freeze(row) }),
      mode = h("button", { type: "button", role: "switch", class: "al-mode", tabindex: "-1",
        onclick: () => this.changeMode(row) });
    const brothers = this.rows.filter((other) => other.level === row.level && upper(other.path) === upper(row.path));
    const tr = h(
      "tr",
      {
        role: "row", tabindex: "-1", "aria-level": row.level, "aria-posinset": brothers.indexOf(row) + 1,
        "aria-setsize": brothers.length, onfocus: () => this.stand(row),
      },
      h("th", { role: "rowheader", scope: "row", style: `--level:${row.level - 1}` }, twisty,
        h("span", { class: "al-module", text: name }), " ", h("span", { class: "al-type", text: row.type }), mark),
      h("td", { role: "gridcell", class: "al-num" }, row.parameters ? row.parameters.toLocaleString("en") : none()),
      h("td", { role: "gridcell" }, row.parameters ? turn : none()),
      h("td", { role: "gridcell" }, this.modeOf(row) ? mode : none()),
    );
    return { row, tr, twisty, mark, turn, mode, name, parent: this.parent(row) };
  }

  listen(el) {
    const update = () => this.update(),
      answered = () => clearTimeout(this.waiting),
      names = ["trainable", "modes", "data"].map((name) => `change:${name}`);
    for (const name of names) this.model.on(name, update);
    this.model.on("msg:custom", answered);
    const stop = followTheme(el, this.root);
    this.leave = () => {
      for (const name of names) this.model.off(name, update);
      this.model.off("msg:custom", answered);
      clearTimeout(this.waiting);
      stop();
    };
  }

  // Return "train", "eval" or "mixed" for the layers inside whose mode matters; null if there are none.
  modeOf(row) {
    return stateOf(this.model.get("modes"), row.path);
  }

  freeze(row) {
    this.ask({ kind: "trainable", path: row.path, value: stateOf(this.model.get("trainable"), row.path) !== true });
  }

  changeMode(row) {
    this.ask({ kind: "mode", path: row.path, value: this.modeOf(row) === "train" ? "eval" : "train" });
  }

  toggle(row) {
    if (!this.open.delete(row.path)) this.open.add(row.path);
    this.layOut();
  }

  openAll() {
    const parents = this.lines.filter((line) => line.parent).map((line) => line.row.path);
    this.open = new Set(parents.every((path) => this.open.has(path)) ? [""] : parents);
    this.layOut();
  }

  shown(row) {
    return this.rows.every((over) => !this.inside(row, over) || this.open.has(over.path));
  }

  // Tab reaches one row and the switches in it; the arrow keys go to the other rows.
  stand(row) {
    this.at = row;
    for (const { tr, turn, mode, row: other } of this.lines)
      for (const element of [tr, turn, mode]) element.tabIndex = other === row ? 0 : -1;
  }

  layOut() {
    for (const { row, tr, twisty, parent } of this.lines) {
      const open = this.open.has(row.path);
      tr.hidden = !this.shown(row);
      if (parent) tr.setAttribute("aria-expanded", String(open));
      twisty.textContent = parent ? (open ? "▾" : "▸") : "";
    }
    // If the layer itself is not visible, the open part around it gets the mark.
    const { end } = this.model.get("data"),
      last = typeof end === "string" && this.lines.findLast(({ row }) => (row.path === end || this.inside({ path: end }, row)) && this.shown(row));
    for (const line of this.lines) {
      line.mark.hidden = line !== last;
      line.mark.textContent = line.row.path === end ? "backward ends here" : "backward ends in it";
    }
    const closed = this.lines.some((line) => line.parent && !this.open.has(line.row.path));
    this.all.textContent = closed ? "Show all layers" : "Show fewer layers";
    this.all.hidden = !this.lines.some((line) => line.parent && line.row.path);
    this.stand(this.at && this.shown(this.at) ? this.at : this.rows[0]);
  }

  onKey(event) {
    const line = this.lines.find(({ tr }) => tr.contains(event.target));
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const seen = this.lines.filter((other) => !other.tr.hidden),
      go = (to) => to?.tr.focus(),
      open = this.open.has(line.row.path),
      onRow = event.target === line.tr;
    const keys = {
      ArrowDown: () => go(seen[seen.indexOf(line) + 1]),
      ArrowUp: () => go(seen[seen.indexOf(line) - 1]),
      Home: () => go(seen[0]),
      End: () => go(seen.at(-1)),
      ArrowRight: () => (line.parent && !open ? this.toggle(line.row) : line.parent && go(seen[seen.indexOf(line) + 1])),
      ArrowLeft: () => {
        if (line.parent && open && onRow) this.toggle(line.row);
        else go(onRow ? seen.findLast((other) => this.inside(line.row, other.row)) : line);
      },
    };
    if (onRow) {
      keys[" "] = keys.Enter = () => line.row.parameters && this.freeze(line.row);
      keys.m = () => this.modeOf(line.row) && this.changeMode(line.row);
    }
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  update() {
    const data = this.model.get("data"),
      trainable = this.model.get("trainable");
    clearTimeout(this.waiting);
    for (const line of this.lines) {
      const { row, turn, mode, tr } = line,
        state = stateOf(trainable, row.path),
        word = STATE_NAMES[state] ?? "";
      turn.setAttribute("aria-checked", String(state));
      turn.setAttribute("aria-label", `${row.path || "network"}: trainable${state === "mixed" ? ", partly" : ""}`);
      turn.replaceChildren(state === false ? h("span", { "aria-hidden": "true", text: "❄ " }) : "", word);
      turn.dataset.state = mode.dataset.state = String(state);
      const now = this.modeOf(row);
      mode.setAttribute("aria-checked", now === "mixed" ? "mixed" : String(now === "train"));
      mode.setAttribute("aria-label", `${row.path || "network"}: train mode${now === "mixed" ? ", partly" : ""}`);
      mode.textContent = MODE_WORDS[now] ?? "";
      tr.classList.toggle("al-unvisited", Boolean(data.unvisited?.includes(row.path)));
    }
    this.layOut();
    this.describe(data);
  }

  describe(data) {
    this.facts.replaceChildren(...(data.costs ?? []).flatMap(([term, text]) => [h("dt", { text: term }), h("dd", { text })]));
    const again = data.forward && data.stale && this.live
      ? h("button", { type: "button", class: "al-small", text: "Run forward again", onclick: () => this.ask({ kind: "forward" }) })
      : null;
    this.reach.replaceChildren(
      h("h2", { text: "Where backward stops" }),
      ...(data.reach ?? []).map((text) => h("p", { class: "al-plain", text })),
      ...(data.stale ? [h("p", { class: "al-stale" }, data.stale, " ", again)] : []),
    );
    const warnings = data.warnings ?? [];
    const count = warnings.filter((warning) => warning.tone === "warning").length;
    this.traps.replaceChildren(
      h("h2", { text: count ? `Warnings (${count})` : "No warnings" }),
      warnings.length
        ? h("ul", { class: "al-warnings" }, warnings.map(({ tone, text }) =>
            h("li", { class: `al-tone-${tone}` }, h("strong", { text: tone === "warning" ? "⚠ Warning: " : "Note: " }), text)))
        : "",
    );
    this.alert(data.error);
    const said = [data.costs?.[0]?.join(": "), data.reach?.[0], count ? `${count} ${count === 1 ? "warning" : "warnings"}.` : "No warnings."].join(" ");
    if (this.said !== undefined && this.said !== said) this.status.textContent = said; // announce nothing on opening
    this.said = said;
  }
}

// Fill an empty cell: a dash to see, and a word for screen readers.
function none() {
  return [h("span", { class: "al-none", "aria-hidden": "true", text: "–" }), h("span", { class: "al-hidden", text: "none" })];
}

function upper(path) {
  if (path === "") return null;
  return path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "";
}

export default entry(Panel);
