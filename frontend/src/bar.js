// The bar below the graph: Back, Play, Next, a timeline with a chip for each beat, What if, and a menu with the rest.
import { h, svgEl } from "./dom.js";
import { icon } from "./controls.js";
import { goTo, lastStep, nextStop, previousStop, setPlaying, stepCount } from "./player.js";
import { stepWords } from "./beats";
import { textWidth } from "./text";

const SHAPES = { back: "M10.5 3v10L4 8z", play: "M4.5 2.8v10.4L13 8z", pause: "M4 3h3v10H4zM9 3h3v10H9z", next: "M5.5 3v10L12 8z" };
const MOST_CHIPS = 24, PHASES = { forward: "values →", backward: "← gradients", update: "update" };

const LEAST_CHIP = 28, PADDED = 10;

export class Bar {
  // `trace`: with its beats; `whatIf`: a button; `menu`: the menu's button and its panel.
  constructor(model, trace, whatIf, menu) {
    Object.assign(this, { model, trace });
    const button = (name, shown, key, shape, act) => h("button", { type: "button", class: "al-iconbutton", "aria-label": name, title: `${shown} (${key})`, onclick: act }, icon(SHAPES[shape]));
    this.play = h("button", { type: "button", class: "al-playbutton", "aria-label": "Play", onclick: () => setPlaying(model, !model.get("playing")) });
    this.slider = h("input", { type: "range", class: "al-slider", min: 0, step: 1, "aria-label": "Step", oninput: () => this.slide() });
    this.chips = h("div", { class: "al-chips", "aria-hidden": "true" });
    this.timeline = h("div", { class: "al-line-of-beats" }, this.slider, this.chips);
    this.steps = [button("Previous step", "Back", "left arrow", "back", () => goTo(model, previousStop(model, model.get("step")))), this.play, button("Next step", "Next", "right arrow", "next", () => goTo(model, nextStop(model, model.get("step"))))];
    this.element = h("div", { class: "al-bar al-beats", role: "toolbar", "aria-label": "Steps" }, this.steps, this.timeline, whatIf, menu);
    this.chips.addEventListener("click", ({ target }) => {
      const chip = target.closest?.(".al-beat");
      if (chip) goTo(model, Number(chip.dataset.last));
    });
  }

  slide() {
    goTo(this.model, Number(this.slider.value));
    this.slider.value = this.model.get("step");
  }

  // Return the beats; if there are many, groups of beats of one phase and module: { title, first, last, phase, beats
  // }.
  groups(width) {
    const each = this.trace.beats.map((beat) => ({ ...beat, beats: [beat] }));
    const room = (found) => found.reduce((sum, { title }) => sum + Math.max(LEAST_CHIP, Math.min(30, textWidth(title, 13) + PADDED)) + 3, 165) <= width;
    if (each.length <= MOST_CHIPS && room(each)) return each;
    const joined = [];
    for (const beat of each) {
      const name = this.groupOf(beat), last = joined.at(-1);
      if (last && last.phase === beat.phase && last.run === beat.run && last.title === name) {
        last.last = beat.last;
        last.beats.push(...beat.beats);
      } else joined.push({ ...beat, title: name });
    }
    return joined.length <= MOST_CHIPS && room(joined) ? joined : null;
  }

  groupOf({ node, title }) {
    const part = node && this.folding?.around(node)[0];
    return part ? (this.trace.titles[part] ?? this.folding.byId.get(part).name) : title;
  }

  fit(width) {
    const groups = this.groups(width);
    const key = groups?.map(({ title, last }) => `${title} ${last}`).join() ?? "";
    if (key === this.drawn) return;
    this.drawn = key;
    this.timeline.classList.toggle("al-plainline", !groups);
    this.shown = groups ?? [];
    let phase = "";
    this.chips.replaceChildren(
      ...this.shown.flatMap((group) => {
        const head = group.phase === phase ? [] : [h("span", { class: `al-phasename al-${group.phase}`, text: PHASES[group.phase] })];
        phase = group.phase;
        group.chip = h("span", { class: `al-beat al-${group.phase}`, "data-last": group.last, title: group.title }, h("span", { text: group.title }));
        return [...head, group.chip];
      }),
    );
    this.look = null;
    this.update();
  }

  update() {
    const { model } = this, step = model.get("step"), count = stepCount(model), last = lastStep(model);
    const usable = count > 0;
    for (const one of [...this.steps, this.timeline]) one.hidden = !usable;
    this.slider.max = Math.max(0, count - 1); // a question may limit the steps to fewer
    this.slider.value = step;
    const frame = this.trace.frames[step], words = stepWords(this.trace, step);
    this.slider.setAttribute("aria-valuetext", frame ? `${words}, ${frame.phase}` : words);
    this.slider.style.setProperty("--part", last ? `${(step / last) * 100}%` : "0%");
    const name = model.get("playing") ? "Pause" : "Play";
    if (this.play.textContent !== name) {
      this.play.setAttribute("aria-label", name);
      this.play.title = `${name} (space)`;
      this.play.replaceChildren(icon(SHAPES[name.toLowerCase()]), h("span", { "aria-hidden": "true", text: name }));
    }
    for (const { chip, first, last: end, beats } of this.shown ?? []) {
      const now = first <= step && step <= end;
      chip.classList.toggle("al-past", end < step);
      chip.classList.toggle("al-current", now);
      const beat = now ? beats.find((one) => one.first <= step && step <= one.last) : null, many = beat && beat.parts.length > 1 && step < beat.last;
      const dots = many ? beat.parts.map((part) => (part <= step ? "●" : "○")).join("") : "";
      if ((chip.children[1]?.textContent ?? "") !== dots) {
        chip.children[1]?.remove();
        if (dots) chip.append(h("span", { class: "al-dots", text: dots }));
      }
    }
  }
}

export function dotsIcon() {
  return svgEl("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "al-icon" }, [3, 8, 13].map((cx) => svgEl("circle", { cx, cy: 8, r: 1.4 })));
}

