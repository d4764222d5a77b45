// The two lines of text about a step, with fixed height, in the learner's words. The first name between backquotes is
// the main node.
import { h } from "./dom.js";
import { grouped } from "./values.js";
import { beatAt } from "./beats";

// Return the two lines of a step: those of its beat; at one of its parts, with the note about that part.
export function linesOf(trace, index) {
  const frame = trace.frames[index], beat = beatAt(trace, index);
  if (!frame) return ["", ""];
  if (!beat?.says[0]) return [sentence(frame.text), ""];
  if (index === beat.last) return beat.says;
  const part = beat.parts.indexOf(index);
  return [beat.says[0], (part >= 0 && beat.notes[part]) || (frame.event === "compute" ? "" : sentence(frame.text))];
}

const sentence = (text) => (!text || /[.?!]$/.test(text) ? text : `${text}.`);

export class Narration {
  constructor() {
    this.element = h("div", { class: "al-say al-sentence", role: "status", "aria-live": "polite", "aria-atomic": "true" });
  }

  show(trace, index, where = "") {
    const frame = trace.frames[index], [first, second] = linesOf(trace, index), words = `${index} ${first} ${second} ${where}`;
    if (words === this.shown) return;
    this.shown = words;
    const line = (name, text) => (text ? h("p", { class: name, title: text.replaceAll("`", "") }, this.named(text, frame.phase)) : null);
    this.element.replaceChildren(
      ...(frame ? [h("span", { class: "al-hidden", text: `Step ${grouped(index + 1)} of ${grouped(trace.frames.length)}, ${frame.phase}: ` }), line("al-first", first + where), line("al-second", second)].filter(Boolean) : []),
    );
  }

  forget() {
    this.shown = "";
  }

  named(text, phase) {
    return text.split("`").map((part, i) => (i % 2 ? h("b", { class: i === 1 ? `al-subject al-${phase}` : "", text: part }) : part));
  }
}
