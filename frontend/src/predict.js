// A prediction: a question answered before code runs. Its host only needs get, set, save_changes, on and off.
import { followTheme, h, prose, rootIn } from "./dom.js";
import { entry } from "./entry.js";

const SURE = ["a guess", "unsure", "fairly sure", "certain"];
let questions = 0; // for a group name of radio buttons that no other question has

function isNumber(text) {
  return /^[[(]/.test(text) || (text !== "" && Number.isFinite(Number(text.replaceAll(",", ""))));
}

class Question {
  constructor(model, host) {
    this.model = model;
    this.kind = model.get("kind");
    questions += 1;
    const shadow = rootIn(host);
    this.inputs = this.kind === "choice" ? this.radios() : [this.field()];
    const choice = this.kind === "choice";
    const done = (event) => {
      if (event.key === "Enter" && (this.kind !== "words" || event.ctrlKey)) this.submit(event);
      if (choice && event.key === " ") setTimeout(() => this.submit(event, false)); // after Space has checked it
    };
    const goes = (event) => event.key === "Tab" && this.submit(event, false); // so that the next tab stop is the confidence
    const leaves = (event) => this.fields.contains(event.relatedTarget) || this.submit(event, false);
    this.fields = h("fieldset", { onkeydown: goes, onkeyup: done, onfocusout: leaves }, h("legend", {}, h("strong", { text: this.kind === "words" ? "In your own words " : "Predict " }), prose(model.get("question"))),
      this.inputs.map((input) => h("label", {}, choice ? [input, h("span", {}, prose(input.value))] : input)));
    this.sure = [...SURE.keys()].map((k) => h("input", { type: "radio", name: `al-sure-${questions}`, value: k + 1, onchange: () => this.keep("confidence", k + 1) }));
    this.reason = h("input", { type: "text", autocomplete: "off", maxlength: 300, "aria-label": "Because",
      onchange: () => this.keep("reason", this.reason.value.trim()) });
    this.more = h("fieldset", { class: "al-sure" }, h("legend", { text: "How sure are you?" }),
      this.sure.map((input, k) => h("label", {}, [input, SURE[k]])), h("label", { class: "al-because" }, "because", this.reason));
    this.status = h("p", { role: "status", "aria-live": "polite" });
    this.form = h("form", { class: "al-predict", onsubmit: (event) => this.submit(event), onkeydown: (event) => event.key === "Escape" || event.stopPropagation() },
      this.fields, this.more, this.status);
    shadow.replaceChildren(h("style", { text: STYLE }), this.form);
    const forget = followTheme(host, this.form), update = () => this.update(), events = ["answer", "actual", "confidence", "reason"].map((name) => `change:${name}`);
    for (const name of events) model.on(name, update);
    this.leave = () => {
      for (const name of events) model.off(name, update);
      forget();
    };
    this.update();
  }

  radios() {
    const name = `al-predict-${questions}`;
    return this.model.get("choices").map((choice) => h("input", { type: "radio", name, value: choice, onclick: (event) => event.detail && this.submit(event, false) }));
  }

  field() {
    const number = this.kind === "number";
    if (this.kind === "words") return h("textarea", { rows: 2, maxlength: 1000, placeholder: "a sentence or two; Ctrl + Enter, or go on with Tab", "aria-label": "Your explanation" });
    return h("input", { type: "text", autocomplete: "off", inputmode: number && "decimal", placeholder: "then press Enter", "aria-label": number ? "Your number" : "Your answer" });
  }

  keep(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
    this.update();
  }

  chosen() {
    return this.kind === "choice" ? (this.inputs.find((input) => input.checked)?.value ?? "") : this.inputs[0].value.trim();
  }

  // A click on a choice submits it. With the keyboard, arrows move through the choices, so Enter, Space or leaving
  // submits; the same for typed answers.
  submit(event, prevent = true) {
    if (prevent) event.preventDefault();
    const answer = this.chosen();
    if (!answer || answer === this.model.get("answer") || this.fields.disabled) return;
    if (this.kind === "number" && !isNumber(answer)) this.status.textContent = "A number is wanted here.";
    else this.keep("answer", answer);
  }

  // Return the text for this answer on a page without a kernel; undefined if there is no outcome yet.
  said(answer) {
    const verdicts = this.model.get("verdicts") ?? {}, value = (text) => Number(text.replaceAll(",", ""));
    const same = Object.keys(verdicts).find((key) => key && (key === answer || (this.kind === "number" && value(key) === value(answer))));
    return answer ? verdicts[same ?? ""] : undefined;
  }

  update() {
    const answer = this.model.get("answer"), actual = this.model.get("actual"), verdict = this.said(answer);
    for (const input of this.inputs) {
      if (this.kind === "choice") input.checked = input.value === answer;
      else if (answer) input.value = answer;
    }
    for (const input of this.sure) input.checked = Number(input.value) === this.model.get("confidence");
    this.reason.value = this.model.get("reason") ?? "";
    this.fields.disabled = this.more.disabled = this.kind !== "words" && (actual !== "" || verdict !== undefined);
    this.more.hidden = !answer || this.kind === "words" || (this.more.disabled && !this.model.get("confidence") && !this.reason.value);
    const kept = answer ? `You predicted: ${answer}` : "";
    let text = kept && `${kept}. You may change it until it is compared, below.`;
    if (this.kind === "words") text = answer && (verdict ?? `In our words: ${actual}`);
    else if (actual) text = `${kept}${kept ? " — it" : "It"} is: ${actual}`;
    else if (verdict) text = verdict;
    else if (this.model.get("live") === false) text = kept && `${kept}. This page cannot run the program: compare in the notebook.`;
    this.status.replaceChildren(...prose(text));
  }
}

export default entry(Question);
