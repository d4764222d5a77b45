// The Details: everything that is known about a tensor, copy, kernel, wait or refusal of a recording.
import { h } from "./dom.js";
import { bytesWords, nameOfTensor, timeWords } from "./measure.js";

export class Facts {
  // actions: select(id), goTo(step).
  constructor(element, story, actions) {
    Object.assign(this, { element, story, actions });
  }

  update(step, selected) {
    const { story } = this, now = story.steps[step], item = story.byId.get(selected || now?.items[0]);
    const key = `${item?.id} ${item && this.stateKey(item, step)}`;
    if (!item || key === this.shown) return;
    this.shown = key;
    const [title, rows] = { t: this.tensor, c: this.copy, k: this.kernel, w: this.wait, o: this.refusal }[item.id[0]].call(this, item, step);
    const at = story.stepOf.get(item.id) ?? (item.born_step >= 0 ? item.born_step : undefined);
    const go = at !== undefined && at !== step ? h("button", { type: "button", class: "al-small", text: `Go to step ${at + 1}`, onclick: () => this.actions.goTo(at) }) : null;
    const focused = this.element.contains(this.element.getRootNode().activeElement);
    this.element.replaceChildren(
      h("section", { class: "al-about" }, h("div", { class: "al-heading" }, h("h2", { text: title }), go), list(rows.filter(([, value]) => value !== null && value !== "")), source(item.source, item.id[0] === "t" ? "made by " : ""), source(item.freed, "freed by ")),
    );
    if (focused && go) go.focus();
  }

  stateKey(item, step) {
    const at = this.story.stepOf.get(item.id) === step;
    return item.end === undefined ? `${at} ${item.died_step <= step && item.died_step !== null}` : `${at} ${this.story.state(item, step)}`;
  }

  // Return buttons that lead to tensors.
  links(ids) {
    return ids.filter(Boolean).map((id) => h("button", { type: "button", class: "al-small", text: nameOfTensor(this.story.byId.get(id)), onclick: () => this.actions.select(id) }));
  }

  tensor(t, step) {
    const gone = t.died_step !== null && t.died_step <= step;
    return [t.name ? `Tensor ${t.name}` : "Tensor without a name", [
      ["shape", `[${t.shape.join(", ")}]`],
      ["dtype", t.dtype],
      ["device", t.device],
      ["numbers", bytesWords(t.bytes)],
      ["memory taken", t.taken === t.bytes ? null : bytesWords(t.taken)],
      ["there since", t.born === null ? "before the recording" : timeWords(t.born)],
      ["freed", t.died === null ? "not in this recording" : `${timeWords(t.died)}${gone ? "" : " (later)"}`],
    ]];
  }

  copy(c) {
    const what = this.links([c.tensor, c.made]);
    return [`Copy from ${c.origin} to ${c.target}`, [
      ["tensor", what.length ? what : null],
      ["bytes", bytesWords(c.bytes)],
      ["starts", timeWords(c.start)],
      ["takes", timeWords(c.end - c.start)],
      ["speed", c.end > c.start ? `${bytesWords(Math.round(c.bytes / (c.end - c.start)))} a second` : null],
      ["host memory", c.origin !== "cpu" && c.target !== "cpu" ? null : c.pinned ? "pinned (page-locked)" : "pageable"],
      ["host", c.waited === null ? "runs on (non_blocking)" : `waits ${timeWords(c.waited)}`],
      ["stream", String(c.stream)],
    ]];
  }

  kernel(k, step) {
    const makes = this.links(k.makes);
    return [`Kernel ${k.name}`, [
      ["for", k.op],
      ["device", `${k.device}, stream ${k.stream}`],
      ["now", { "": "not launched yet", queued: "in the queue", running: "at work", done: "done" }[this.story.state(k, step)]],
      ["queued", timeWords(k.queued)],
      ["starts", timeWords(k.start)],
      ["takes", timeWords(k.end - k.start)],
      ["ahead of it", k.measured ? null : String(k.ahead)],
      ["memory moved", k.bytes ? bytesWords(k.bytes) : null],
      ["phase", k.phase],
      ["makes", makes.length ? makes : null],
    ]];
  }

  wait(w) {
    return [`The host waits for ${w.device}`, [
      ["in", `${w.call}()`],
      ["for", w.stream === null ? "all its streams" : `stream ${w.stream}`],
      ["starts", timeWords(w.start)],
      ["takes", timeWords(w.end - w.start)],
    ]];
  }

  refusal(o) {
    return [`Out of memory on ${o.device}`, [
      ["asked for", bytesWords(o.bytes)],
      ["in use", bytesWords(o.allocated)],
      ["reserved", bytesWords(o.reserved)],
      ["limit", bytesWords(o.memory)],
      ["when", timeWords(o.time)],
    ]];
  }
}

function list(rows) {
  return h("dl", { class: "al-facts al-factlist" }, rows.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", {}, value)]));
}

function source(place, words) {
  if (!place) return null;
  return h("div", { class: "al-source" }, h("div", { class: "al-name", text: `${words}${place.file}, line ${place.line}` }), place.text ? h("code", { text: place.text }) : null);
}
