// The lines of text about a step, in the learner's words. The first name between backquotes is the main node. The box is
// as high as the longest step needs, so that nothing below moves.
import { h } from "./dom.js";
import { beatAt, stepWords } from "./beats";
import { lineCount } from "./text";

const MOST_LINES = 2; // of each of the two texts
const LOOKS = { wide: { first: [18, 28], second: [14, 22] }, narrow: { first: [16, 22], second: [13, 19] } }; // px: letters, line

// Return the two texts of a step: those of its beat; at one of its parts, with the note about that part.
export function linesOf(trace, index) {
  const frame = trace.frames[index], beat = beatAt(trace, index);
  if (!frame) return ["", ""];
  if (!beat?.says[0]) return [sentence(frame.text), ""];
  if (index === beat.last) return beat.says;
  const part = beat.parts.indexOf(index);
  return [beat.says[0], (part >= 0 && beat.notes[part]) || (frame.event === "compute" ? "" : sentence(frame.text))];
}

// Return the height in px that the texts of every step need in a box of a width.
export function heightOf({ beats }, width, narrow) {
  const { first, second } = LOOKS[narrow ? "narrow" : "wide"];
  const lines = (text, size, weight) => Math.min(MOST_LINES, lineCount(text.replaceAll("`", ""), width, size, weight));
  const texts = beats.flatMap(({ says, notes }) => [says[1], ...notes].map((text) => [says[0], text]));
  const high = ([one, other]) => Math.max(1, lines(one, first[0], 600)) * first[1] + lines(other, second[0]) * second[1];
  return 4 + Math.max(beats.some(({ says }) => says[0]) ? first[1] + second[1] : MOST_LINES * first[1], ...texts.map(high));
}

const sentence = (text) => (!text || /[.?!]$/.test(text) ? text : `${text}.`);

export class Narration {
  constructor() {
    this.element = h("div", { class: "al-say al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  }

  // Reserve the room for all steps.
  reserve(trace, width, narrow) {
    this.element.style.height = `${heightOf(trace, width - 12, narrow)}px`; // its padding, and some room for other fonts
  }

  show(trace, index, where = "") {
    const frame = trace.frames[index], [first, second] = linesOf(trace, index), words = `${index} ${first} ${second} ${where}`;
    if (words === this.shown) return;
    this.shown = words;
    const line = (name, text) => (text ? h("p", { class: name, title: text.replaceAll("`", "") }, this.named(text, frame.phase)) : null);
    this.element.replaceChildren(
      ...(frame ? [h("span", { class: "al-hidden", text: `${stepWords(trace, index)}, ${frame.phase}: ` }), line("al-first", first + where), line("al-second", second)].filter(Boolean) : []),
    );
  }

  forget() {
    this.shown = "";
  }

  named(text, phase) {
    return text.split("`").map((part, i) => (i % 2 ? h("b", { class: i === 1 ? `al-subject al-${phase}` : "", text: part }) : part));
  }
}
