// What changes inside a card and on a line: tabs, gradients, numbers.
import { svgEl } from "./dom.js";
import { brief, shapeWords, short, thumbCells } from "./values.js";

const MARGIN_OF_WORDS = 8; // beside the words of a card
const LABEL_LETTER = 7, MOST_LABEL = 150; // units: a letter about, and what a label may take
const LONG = 6, MOST_LETTERS = 7; // characters of a number that a pill has room for, and those that can just be read there

// Of [text, room], those whose words are long ("× -0.416") are drawn narrower: they must not touch the border, and lower letters could
// not be read. All are measured before any is changed, so that the page is laid out once.
export function narrow(texts) {
  for (const [text, room] of texts.filter(([text, room]) => text.getComputedTextLength() > room)) {
    text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    text.setAttribute("textLength", room);
  }
}

// A label above a card, in a box of its own.
export function labelAbove(g, name, words) {
  const width = Math.min(MOST_LABEL, words.length * LABEL_LETTER + 12), x = ((Number(g.dataset.w) || width) - width) / 2, y = -16;
  const text = svgEl("text", { x: x + width / 2, y: y + 14, "text-anchor": "middle", "font-size": 13, text: words });
  g.append(svgEl("g", { class: name, "aria-hidden": "true" }, svgEl("rect", { x, y, width, height: 19, rx: 4 }), text));
  narrow([[text, width - 8]]);
}

// What would be freed has the look of it; that it would stands below, at the gradient.
export function updateTab({ tab, rect, text, full, count }, saved, would) {
  const gone = (saved === "freed" && !would) || saved === "modified";
  tab.dataset.state = saved;
  rect.setAttribute("fill", saved === "freed" ? "url(#al-hatch)" : saved ? PALETTE.saved : "none");
  text.textContent = !saved ? "" : count ? `${count} ${gone ? saved : "saved"}` : gone ? `${full.split(" · ")[0]} · ${saved}` : full;
}

// Hands back [text, room] of a word that may be too long.
export function updateGradient({ g, grad: strip, node, strip: paper, word, number, gthumb }, state, said, grad) {
  strip.dataset.state = state;
  paper.setAttribute("fill", state in PATTERNS ? `url(#al-${state})` : PALETTE.paper);
  word.textContent = said;
  word.removeAttribute("textLength");
  number.textContent = state === "zero" && !node.shape?.length ? "0" : gthumb && grad ? "" : brief(grad);
  if (gthumb) {
    const w = Number(gthumb.dataset.w), h = Number(gthumb.dataset.h);
    const frame = { x: -2, y: -2, width: w + 4, height: h + 4, fill: PALETTE.paper, stroke: "none" };
    gthumb.replaceChildren(grad ? svgEl("rect", frame) : "", ...thumbCells(grad, w, h));
  }
  return said.length > 11 ? [word, Number(g.querySelector(".al-card").getAttribute("width")) - 2 * MARGIN_OF_WORDS] : null;
}

// Of a row only the number of the card's own result is shown, and only where it is one.
export function updateRow({ g, node, strip, number, word }, { state, word: said, grad }) {
  g.dataset.state = state;
  strip.setAttribute("fill", state in PATTERNS ? `url(#al-${state})` : PALETTE.paper);
  word.textContent = said;
  if (number) number.textContent = node.shape?.length ? "" : state === "zero" ? "0" : brief(grad);
}

// The state of several saved tensors: the worst of them.
export function together(states) {
  return ["modified", "alive", "freed"].find((state) => states.includes(state)) ?? states[0];
}

export function pillWords(sent) {
  if (!sent) return ""; // Details say where the numbers are
  return sent.shape.length ? shapeWords(sent.shape) : brief(sent);
}

// "× 2" for a local derivative that is one number, else "". The zeros of "× 1.00" say that digits were left out.
export function localFactor(edge) {
  const found = /^\\frac.*(?:=|\\approx)\s*(?:\\left\()?(-?[\d.]+)(?: \\cdot 10\^\{(-?\d+)\})?(?:\\right\))?$/.exec(edge.tex_numbers);
  if (!found) return "";
  const text = found[1] + (found[2] ? `e${found[2]}` : "");
  const few = text.length > LONG ? short(Number(text)) : text;
  return few.length > MOST_LETTERS ? "" : `× ${few}`;
}
