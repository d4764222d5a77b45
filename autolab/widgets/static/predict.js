// A prediction: a question answered before anything runs. Needs of a host only get, set, save_changes, on and off.
import { followTheme, h } from "./dom.js";
import { entry } from "./entry.js";

let questions = 0; // the radio buttons of one question share a name that no other question has

// `code` between backquotes becomes <code>; everything else stays text, never markup.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part));
}

function isNumber(text) {
  return /^[[(]/.test(text) || (text !== "" && Number.isFinite(Number(text.replaceAll(",", ""))));
}

class Question {
  constructor(model, host) {
    this.model = model;
    this.kind = model.get("kind");
    const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    // JupyterLab's keyboard shortcuts look for this attribute on the event's target, which for them is the host element.
    host.setAttribute("data-lm-suppress-shortcuts", "true");
    this.inputs = this.kind === "choice" ? this.radios() : [this.field()];
    this.fields = h("fieldset", {}, h("legend", {}, h("strong", { text: "Predict " }), prose(model.get("question"))),
      this.inputs.map((input) => h("label", {}, this.kind === "choice" ? [input, h("span", {}, prose(input.value))] : input)));
    this.keep = h("button", { type: "submit", text: "Keep this prediction" });
    this.status = h("p", { role: "status", "aria-live": "polite" });
    this.form = h("form", { class: "al-predict", onsubmit: (event) => this.submit(event), onkeydown: (event) => event.stopPropagation() },
      this.fields, this.keep, this.status);
    shadow.replaceChildren(h("style", { text: STYLE }), this.form);
    const forget = followTheme(host, this.form), update = () => this.update(), events = ["change:answer", "change:actual"];
    for (const name of events) model.on(name, update);
    this.leave = () => {
      for (const name of events) model.off(name, update);
      forget();
    };
    this.update();
  }

  radios() {
    const name = `al-predict-${(questions += 1)}`;
    return this.model.get("choices").map((choice) => h("input", { type: "radio", name, value: choice }));
  }

  field() {
    const number = this.kind === "number";
    return h("input", { type: "text", autocomplete: "off", inputmode: number && "decimal", "aria-label": number ? "Your number" : "Your answer" });
  }

  chosen() {
    return this.kind === "choice" ? (this.inputs.find((input) => input.checked)?.value ?? "") : this.inputs[0].value.trim();
  }

  submit(event) {
    event.preventDefault();
    const answer = this.chosen();
    if (!answer) this.status.textContent = "Choose or type an answer first.";
    else if (this.kind === "number" && !isNumber(answer)) this.status.textContent = "A number is wanted here.";
    else {
      this.model.set("answer", answer);
      this.model.save_changes();
      this.update();
    }
  }

  update() {
    const answer = this.model.get("answer"), actual = this.model.get("actual");
    for (const input of this.inputs) {
      if (this.kind === "choice") input.checked = input.value === answer;
      else if (answer) input.value = answer;
    }
    this.fields.disabled = this.keep.disabled = actual !== "";
    const kept = answer ? `You predicted: ${answer}` : "";
    if (actual) this.status.textContent = `${kept}${kept ? " — it" : "It"} is: ${actual}`;
    else if (this.model.get("live") === false) this.status.textContent = kept && `${kept}. This page cannot run the program: compare in the notebook.`;
    else this.status.textContent = kept ? `Run on, then compare. ${kept}` : "";
  }
}

export default entry(Question);
