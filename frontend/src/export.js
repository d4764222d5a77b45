// Export the picture as a file: one step as SVG or PNG, several steps as one animated SVG. Nothing leaves the
// browser.
import { clamp, h, svgEl } from "./dom.js";
import { lastStep } from "./player.js";
import { momentAt } from "./states.js";
import { grouped } from "./values.js";

const INLINED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "visibility", "display", "font-weight", "font-style", "paint-order", "text-decoration-line", "text-anchor"];
const PITCH = 20, MARGINS = 12, LETTER = 7.6; // px: line height of the sentence above the picture, margins around it, approximate width of a letter
const MOST_STEPS = 300, MOST_PIXELS = 30e6, DENSITY = 3;

// Convert "color(srgb 0.5 0.1 0)", the computed form of mixed colours, to a form that every program knows.
function plainColour(value) {
  const mixed = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)/.exec(value);
  return mixed ? `#${mixed.slice(1).map((part) => Math.round(255 * clamp(Number(part), 0, 1)).toString(16).padStart(2, "0")).join("")}` : value;
}

// Return a copy of `element` that looks the same without a style sheet.
function inlined(element) {
  const copy = element.cloneNode(false);
  for (const name of ["class", "style", "tabindex", "role", ...element.getAttributeNames().filter((name) => /^(aria|data)-/.test(name))]) copy.removeAttribute(name);
  if (element.closest("defs") === null && element.tagName !== "title") {
    const style = getComputedStyle(element);
    if (style.display === "none") return null;
    for (const name of element.tagName === "g" ? ["opacity"] : INLINED) {
      const value = plainColour(style.getPropertyValue(name));
      if (value && !["normal", "auto", "inline", "visible", "none", "1"].includes(value)) copy.setAttribute(name, value);
      else if (["fill", "stroke"].includes(name)) copy.setAttribute(name, value);
      else copy.removeAttribute(name);
    }
  } else if (element.classList.contains("al-devicepaper") || element.classList.contains("al-devicestripe")) copy.setAttribute("fill", getComputedStyle(element).fill);
  for (const child of element.childNodes) {
    const kid = child.nodeType === Node.ELEMENT_NODE ? inlined(child) : child.nodeType === Node.TEXT_NODE ? child.cloneNode() : null;
    if (kid) copy.append(kid);
  }
  return copy;
}

// Break a sentence into lines of at most so many px.
function wrapped(text, width) {
  const lines = [""];
  for (const word of text.trim().split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length * LETTER > width && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function download(blob, name) {
  const url = URL.createObjectURL(blob), link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const serialized = (svg) => new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });

export class Exports {
  constructor(view) {
    this.view = view;
    const button = (text, act) => h("button", { type: "button", class: "al-small", text, onclick: () => this.run(act) });
    const field = (name) => h("input", { type: "number", class: "al-field", min: 1, "aria-label": name });
    [this.from, this.to] = [field("First step of the film"), field("Last step of the film")];
    this.said = h("span", { class: "al-note", "aria-live": "polite" });
    this.element = h(
      "div",
      { class: "al-tool", role: "group", "aria-label": "Files" },
      h("div", { class: "al-name", "aria-hidden": "true", text: "Save this step as" }),
      button("SVG", () => this.svg()),
      button("PNG", () => this.png()),
      h("div", { class: "al-name", "aria-hidden": "true", text: "Save the steps from … to … as an SVG that plays" }),
      this.from,
      this.to,
      button("Film", () => this.film()),
      this.said,
    );
  }

  refresh() {
    const count = lastStep(this.view.model) + 1; // up to the step at which a question is open
    for (const [field, value] of [[this.from, 1], [this.to, Math.min(count, MOST_STEPS)]]) {
      field.max = count;
      if (!field.value) field.value = value;
    }
  }

  async run(act) {
    this.said.textContent = "";
    try {
      this.said.textContent = await act();
    } catch (error) {
      this.said.textContent = `This cannot be saved: ${error.message}`;
    }
  }

  get name() {
    return `step ${this.view.model.get("step") + 1}`;
  }

  // Return the picture of one step as the explorer shows it now, with its sentence, as an independent element.
  still() {
    const sentence = this.sentence(this.view.model.get("step"));
    return this.sheet([sentence, ...this.parts()], sentence.childNodes.length);
  }

  get wide() {
    return Math.max(this.view.graph.size().width, 480);
  }

  sentence(index) {
    const { frames } = this.view.trace, frame = frames[index], words = frame ? `Step ${grouped(index + 1)} of ${grouped(frames.length)}, ${frame.phase}: ${frame.text}` : "";
    const lines = wrapped(words, this.wide), look = { "font-size": 15, fill: plainColour(getComputedStyle(this.view.root).color) };
    return svgEl("text", look, lines.map((line, i) => svgEl("tspan", { x: 0, y: PITCH * (i - lines.length) - 6 }, line)));
  }

  // Return the page with its content below a space for so many lines.
  sheet(inside, lines) {
    const { graph, root } = this.view, size = { width: this.wide + 2 * MARGINS, height: graph.size().height + lines * PITCH + 4 * MARGINS };
    const picture = svgEl("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": graph.svg.getAttribute("font-family") });
    const place = svgEl("g", { transform: `translate(${MARGINS} ${lines * PITCH + 3 * MARGINS})` }, inside);
    picture.append(svgEl("title", {}, "autolab explorer"), svgEl("rect", { width: size.width, height: size.height, fill: plainColour(getComputedStyle(root).backgroundColor) }), place);
    return picture;
  }

  // Return the present drawing, piece by piece.
  parts() {
    const { root, graph } = this.view;
    graph.animate(null);
    root.classList.add("al-still"); // no fading or motion
    const parts = [...graph.svg.children].map(inlined).filter(Boolean);
    root.classList.remove("al-still");
    return parts;
  }

  svg() {
    download(serialized(this.still()), `${this.name}.svg`);
    return "saved";
  }

  async png() {
    const picture = this.still(), [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
    const url = URL.createObjectURL(serialized(picture)), image = new Image();
    image.src = url;
    await image.decode();
    URL.revokeObjectURL(url);
    const density = Math.min(DENSITY, Math.sqrt(MOST_PIXELS / (width * height)), 16_000 / Math.max(width, height));
    const canvas = h("canvas", { width: Math.floor(width * density), height: Math.floor(height * density) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(await new Promise((resolve) => canvas.toBlob(resolve)), `${this.name}.png`);
    return `saved, ${grouped(canvas.width)} x ${grouped(canvas.height)} pixels`;
  }

  // Content shared by several steps is stored once, and shown during those steps.
  async film() {
    const { view } = this, { model, graph, trace } = view, count = lastStep(model) + 1;
    const [first, last] = [this.from, this.to].map((field) => clamp(Math.round(Number(field.value)) || 1, 1, count) - 1);
    if (last < first) throw new Error("the last step comes before the first");
    if (last - first >= MOST_STEPS) throw new Error(`${grouped(last - first + 1)} steps are more than ${MOST_STEPS}`);
    const dimmed = new Set(model.get("dimmed")), kept = new Map(), order = [];
    let lines = 1;
    for (let index = first; index <= last; index += 1) {
      const now = momentAt(trace, index, dimmed);
      graph.update(index, now, "");
      view.tools.colouring.update(index, now);
      const sentence = this.sentence(index);
      lines = Math.max(lines, sentence.childNodes.length);
      [sentence, ...this.parts()].forEach((part, place) => {
        const key = `${place} ${part.outerHTML}`;
        if (!kept.has(key)) (order[place] ??= []).push(kept.set(key, { part, steps: [] }).get(key));
        kept.get(key).steps.push(index - first);
      });
      if ((index - first) % 10 === 9) {
        this.said.textContent = `step ${index + 1}`;
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    view.shown = "";
    view.update(false);
    const all = order.flat(), steps = last - first + 1, picture = this.sheet(all.map((piece) => played(piece.part, piece.steps, steps)), lines);
    picture.prepend(svgEl("style", {}, keyframes(all, steps, model.get("interval"))));
    download(serialized(picture), `steps ${first + 1} to ${last + 1}.svg`);
    return `saved, ${grouped(steps)} steps`;
  }
}

const spanName = (steps) => `s${steps.map((step, i) => (steps[i - 1] === step - 1 ? "" : `_${step}`) + (steps[i + 1] === step + 1 ? "" : `-${step}`)).join("")}`;

function played(part, steps, count) {
  if (part.tagName === "defs" || steps.length === count) return part;
  return svgEl("g", { class: `t ${spanName(steps)}`, opacity: steps[0] ? 0 : 1 }, part);
}

// For readers who prefer less motion, it stays at its first step.
function keyframes(all, count, interval) {
  const rules = new Map(), at = (step) => `${Number(((100 * step) / count).toFixed(4))}%`;
  for (const { steps } of all) {
    if (steps.length === count) continue;
    const there = new Set(steps), name = spanName(steps);
    const turns = Array.from({ length: count }, (_, step) => step).filter((step) => !step || there.has(step) !== there.has(step - 1));
    rules.set(name, `.${name}{animation-name:${name}}@keyframes ${name}{${turns.map((step) => `${at(step)}{opacity:${there.has(step) ? 1 : 0}}`).join("")}100%{opacity:${there.has(count - 1) ? 1 : 0}}}`);
  }
  const still = "@media (prefers-reduced-motion:reduce){.t{animation:none}}";
  return `.t{animation:${(count * interval) / 1000}s step-end infinite}${[...rules.values()].join("")}${still}`;
}
