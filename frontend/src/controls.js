// Toolbar, slider and keys.
import { h, svgEl } from "./dom.js";
import { grouped } from "./values.js";
import { goTo, lastStep, nextStop, previousStop, setPlaying, stepCount } from "./player.js";

const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  previous: "M12 3v10L4 8z",
  next: "M4 3v10l8-5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
  play: "M4 2.5v11L13.5 8z",
  pause: "M3.5 3h3.2v10H3.5zM9.3 3h3.2v10H9.3z",
  in: "M7 3h2v4h4v2H9v4H7V9H3V7h4z",
  out: "M3 7h10v2H3z",
  fit: "M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z",
};

export function icon(path) {
  return svgEl(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "al-icon" },
    svgEl("path", { d: path }),
  );
}

function button(name, key, picture, onclick) {
  return h(
    "button",
    { type: "button", "aria-label": name, title: key ? `${name} (${key})` : name, onclick },
    icon(ICONS[picture]),
  );
}

export class Controls {
  // zoom(way): called by the buttons at the right, if there are any; `more`: elements beside them.
  constructor(model, zoom, more = "") {
    this.model = model;
    const by = (step) => () => goTo(model, step());
    this.play = h("button", {
      type: "button",
      class: "al-playbutton",
      "aria-label": "Play",
      onclick: () => setPlaying(model, !model.get("playing")),
    });
    this.slider = h("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": "Step",
      oninput: () => {
        goTo(model, Number(this.slider.value));
        this.slider.value = model.get("step");
      },
    });
    this.count = h("span", { class: "al-count" });
    const steps = [
      button(
        "First step",
        "Home",
        "first",
        by(() => 0),
      ),
      button(
        "Previous step",
        "left arrow",
        "previous",
        by(() => model.get("step") - 1),
      ),
      this.play,
      button(
        "Next step",
        "right arrow",
        "next",
        by(() => model.get("step") + 1),
      ),
      button(
        "Last step",
        "End",
        "last",
        by(() => lastStep(model)),
      ),
    ];
    this.element = h(
      "div",
      { class: "al-bar", role: "toolbar", "aria-label": "Steps" },
      (this.steps = h("div", { class: "al-buttons" }, steps)),
      this.slider,
      this.count,
      zoom &&
        h(
          "div",
          { class: "al-buttons al-zoom" },
          button("Zoom out", "-", "out", () => zoom(-1)),
          button("Zoom in", "+", "in", () => zoom(1)),
          button("Fit", "0", "fit", () => zoom(0)),
          more,
        ),
    );
  }

  // phase: the current step's phase, if there are phases.
  update(phase = "") {
    const step = this.model.get("step");
    const count = stepCount(this.model);
    const last = Math.max(0, count - 1);
    this.steps.hidden = this.slider.hidden = !count;
    this.slider.max = last;
    this.slider.value = step;
    this.slider.style.setProperty("--part", last ? `${(step / last) * 100}%` : "0%");
    const words = count ? `Step ${grouped(step + 1)} of ${grouped(count)}` : "No steps";
    this.slider.setAttribute("aria-valuetext", phase ? `${words}, ${phase}` : words);
    this.count.textContent = words;
    const name = this.model.get("playing") ? "Pause" : "Play";
    if (this.play.textContent === name) return;
    this.play.setAttribute("aria-label", name);
    this.play.title = `${name} (space)`;
    this.play.replaceChildren(icon(ICONS[name.toLowerCase()]), h("span", { "aria-hidden": "true", text: name }));
  }
}

const WALKING = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "o"];

// Left, Right, Home and End step; Space plays; Escape deselects the node. `walk`: where other keys lead from a node;
// `more`: further keys, such as "n" or "Shift+ArrowLeft", and their actions.
export function onKey(event, model, walk, more = {}) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("[type=search],[type=number],select")) return;
  const target = event.target,
    node = target.closest(".al-node, .al-header"),
    slider = target.matches("input[type=range]");
  const step = model.get("step"),
    press = target.closest("button");
  const select = () => {
    model.set("selected", node.dataset.id);
    model.save_changes();
  };
  const use = () => (node.hasAttribute("aria-expanded") ? (node.querySelector(".al-close") ?? node).dispatchEvent(new MouseEvent("click")) : select());
  const keys = {
    ArrowRight: () => goTo(model, nextStop(model, step)),
    ArrowLeft: () => goTo(model, previousStop(model, step)),
    Home: () => goTo(model, 0),
    End: () => goTo(model, lastStep(model)),
    ...Object.fromEntries((node && walk ? WALKING : []).map((key) => [key, () => walk.go(key, node)])),
    " ": () => (node ? use() : press ? press.click() : setPlaying(model, !model.get("playing"))),
    Enter: () => (node ? use() : press?.click()),
  };
  if (model.get("selected"))
    keys.Escape = () => {
      model.set("selected", "");
      model.save_changes();
    };
  const act = more[event.shiftKey ? `Shift+${event.key}` : event.key] ?? more[event.key] ?? keys[event.key];
  if (!act || (slider && event.key === "Enter")) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}
