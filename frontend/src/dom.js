// Small helpers for elements. Nothing here depends on traces.

const SVG_NS = "http://www.w3.org/2000/svg";

function fill(element, props, kids) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...kids.flat(Infinity).filter((kid) => kid !== null && kid !== undefined && kid !== ""));
  return element;
}

export function h(tag, props = {}, ...kids) {
  return fill(document.createElement(tag), props, kids);
}

export function svgEl(tag, props = {}, ...kids) {
  return fill(document.createElementNS(SVG_NS, tag), props, kids);
}

// Return a name that may break only after its underscores and dots.
export function breakable(name) {
  return name.split(/(?<=[_.])(?=.)/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));
}

// Turn `code` between backquotes into <code>; everything else stays text, never markup.
export function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part));
}

export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

// For a scrolling box whose contents are tab stops: without this, Firefox would also stop at the box, which has no
// name.
export const HOLDS_STOPS = { tabindex: "-1" };

// Content that is too wide scrolls and becomes a tab stop, so give such a stop a name.
export function nameScrollers(root) {
  const boxes = [...root.querySelectorAll(".al-formula, .al-heatbox, .al-rows, .al-column, .al-scroll:not(.al-named)")];
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1);
  for (const [i, box] of boxes.entries()) {
    const scrolls = wide[i];
    const within = box.dataset.scrolls ?? box.querySelector("[aria-label]")?.getAttribute("aria-label");
    const caption = box.parentElement.querySelector(".al-name")?.textContent;
    for (const [name, value] of [["role", "group"], ["tabindex", "0"], ["aria-label", `${within || caption || "numbers"}: scrolls`]])
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
  }
}

// A widget's own root. JupyterLab's shortcuts look for this attribute on the event's target, which for them is the
// host element, so the widget keeps its keys. The notebook can still be saved from inside; if there is nothing to
// save to, Ctrl S goes to the browser. An Escape that closes nothing in the widget leads back to its cell, where
// JupyterLab handles the keys.
export function rootIn(host) {
  host.setAttribute("data-lm-suppress-shortcuts", "true");
  host.addEventListener("keydown", (event) => saves(event) && !host.parentElement.dispatchEvent(new KeyboardEvent("keydown", pressed(event))) && event.preventDefault(), true);
  host.addEventListener("keydown", ({ key, defaultPrevented }) => key === "Escape" && !defaultPrevented && host.closest(".jp-Cell")?.focus({ preventScroll: true }));
  return host.shadowRoot ?? host.attachShadow({ mode: "open" });
}

const saves = ({ key, ctrlKey, metaKey }) => (ctrlKey || metaKey) && key.toLowerCase() === "s";
const pressed = ({ key, code, keyCode, ctrlKey, metaKey, shiftKey }) => ({ key, code, keyCode, ctrlKey, metaKey, shiftKey, bubbles: true, cancelable: true });

export function reducedMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Return "dark" or "light", the look of the page around the element. JupyterLab shows it in its --jp-* variables,
// Colab and VS Code in an attribute or class, a plain page in the reader's system preference.
export function themeOf(element) {
  const styled = element.isConnected ? element : document.body; // an element outside the page has no style
  const jupyter = getComputedStyle(styled).getPropertyValue("--jp-layout-color1").trim();
  if (jupyter) return luminance(jupyter) < 0.35 ? "dark" : "light";
  if (document.documentElement.getAttribute("theme") === "dark" || document.body.classList.contains("vscode-dark"))
    return "dark";
  if (document.documentElement.getAttribute("theme") === "light" || document.body.classList.contains("vscode-light"))
    return "light";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Keep `root.dataset.theme` equal to themeOf(host); call the returned function to stop.
export function followTheme(host, root) {
  const theme = () => (root.dataset.theme = themeOf(host)),
    system = matchMedia("(prefers-color-scheme: dark)"),
    watcher = new MutationObserver(theme);
  watcher.observe(document.body, { attributes: true });
  watcher.observe(document.documentElement, { attributes: true });
  system.addEventListener("change", theme);
  theme();
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", theme);
  };
}

function luminance(color) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}
