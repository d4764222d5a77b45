// Texts that fit their space, labels above cards, and the number of a local derivative.
import { svgEl } from "./dom.js";
import { short } from "./values.js";

const LABEL_LETTER = 7, MOST_LABEL = 150; // units: approximate width of a letter, and maximum width of a label
const LONG = 6, MOST_LETTERS = 7; // characters of a number that fit a label, and the maximum that is still readable there

// Draw texts that are too long for their room ("× -0.416") narrower: they must not touch the border, and smaller
// letters could not be read. `texts` are [text, room]; measure all before changing any, so that the page is laid out
// once.
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

// Return "× 2" for a local derivative that is one number, else "". The zeros of "× 1.00" mean that digits were left
// out.
export function localFactor(edge) {
  const found = /^\\frac.*(?:=|\\approx)\s*(?:\\left\()?(-?[\d.]+)(?: \\cdot 10\^\{(-?\d+)\})?(?:\\right\))?$/.exec(edge.tex_numbers);
  if (!found) return "";
  const text = found[1] + (found[2] ? `e${found[2]}` : "");
  const few = text.length > LONG ? short(Number(text)) : text;
  return few.length > MOST_LETTERS ? "" : `× ${few}`;
}
