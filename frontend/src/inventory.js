// The questions of an inventory, one at a time: a program, the choices for its last line, and the progress.
import { followTheme, h, rootIn } from "./dom.js";
import { entry } from "./entry.js";

let inventories = 0; // for a group name of radio buttons that no other question has

class Inventory {
  constructor(model, host) {
    this.model = model;
    inventories += 1;
    const shadow = rootIn(host);
    this.items = model.get("items");
    const open = this.items.findIndex(({ number }) => !(number in model.get("answers")));
    this.at = Math.max(0, open);
    this.code = h("pre", { class: "al-program", tabindex: "0", role: "group", "aria-label": "The program" });
    this.choices = h("div");
    this.fields = h("fieldset", {}, h("legend", { text: model.get("ask") }), this.choices);
    this.where = h("select", { "aria-label": "Question", onchange: () => this.go(Number(this.where.value)) });
    this.back = this.button("Back", () => this.go(this.at - 1));
    this.next = h("button", { type: "submit", text: "Next" }); // so that Enter continues, too
    this.end = this.button("Hand in", () => this.handIn());
    this.status = h("p", { role: "status", "aria-live": "polite" });
    this.said = h("div", { role: "status", "aria-live": "polite" });
    this.form = h("form", { class: "al-predict al-inventory", "aria-label": `Inventory, ${model.get("when")}`, onkeydown: (event) => event.key === "Escape" || event.stopPropagation(),
      onsubmit: (event) => this.onward(event) },
      this.said, this.body = h("div", {}, this.code, this.fields, h("p", { class: "al-note", text: model.get("note") }),
        h("div", { class: "al-walk" }, this.back, this.where, this.next, this.end), this.status));
    shadow.replaceChildren(h("style", { text: STYLE }), this.form);
    const forget = followTheme(host, this.form), update = () => this.update(), events = ["change:answers", "change:handed_in", "change:said"];
    for (const name of events) model.on(name, update);
    this.leave = () => {
      for (const name of events) model.off(name, update);
      forget();
    };
    this.show();
  }

  button(text, action) {
    return h("button", { type: "button", text, onclick: action });
  }

  onward(event) {
    event.preventDefault();
    if (this.at + 1 < this.items.length) this.go(this.at + 1);
  }

  go(to) {
    this.at = to;
    this.show();
    this.choices.querySelector("input:checked, input").focus();
  }

  keep(choice) {
    this.model.set("answers", { ...this.model.get("answers"), [this.items[this.at].number]: choice });
    this.model.save_changes();
    this.update();
  }

  handIn() {
    const left = this.left();
    if (left.length) {
      this.status.textContent = `Not answered yet: ${left.map((i) => i + 1).join(", ")}. “I cannot tell” is an answer, too.`;
      return;
    }
    this.model.set("handed_in", true);
    this.model.save_changes();
    this.update();
  }

  left() {
    return [...this.items.keys()].filter((i) => !(this.items[i].number in this.model.get("answers")));
  }

  show() {
    const { code, choices } = this.items[this.at];
    this.code.textContent = code;
    this.choices.replaceChildren(...choices.map((choice) => h("label", {}, h("input", { type: "radio", name: `al-inventory-${inventories}`, value: choice, onchange: () => this.keep(choice) }), h("span", { text: choice }))));
    this.status.textContent = "";
    this.update();
  }

  update() {
    const answers = this.model.get("answers"), done = this.model.get("handed_in"), left = this.left().length, total = this.items.length;
    for (const input of this.choices.querySelectorAll("input")) input.checked = input.value === answers[this.items[this.at].number];
    this.where.replaceChildren(...this.items.map(({ number }, i) => h("option", { value: i, selected: i === this.at, text: `${i + 1} of ${total}${number in answers ? " ✓" : ""}` })));
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === total - 1;
    this.end.textContent = left ? `Hand in (${total - left} of ${total} answered)` : "Hand in";
    this.body.hidden = done;
    this.said.innerHTML = done ? this.model.get("said") : ""; // the kit's own text
    if (done && !this.model.get("said")) this.said.textContent = "Handed in.";
  }
}

export default entry(Inventory);
