// The verdict on a prediction: shown when there is an answer, or on request.
import { followTheme, h, rootIn } from "./dom.js";
import { entry } from "./entry.js";

class Verdict {
  constructor(model, host) {
    this.model = model;
    const shadow = rootIn(host);
    this.ask = h("button", { type: "button", text: "Show me", onclick: () => this.showMe() });
    this.text = h("div", { role: "status", "aria-live": "polite" });
    this.root = h("div", { class: "al-predict al-verdict" }, this.text, this.ask);
    shadow.replaceChildren(h("style", { text: STYLE }), this.root);
    const forget = followTheme(host, this.root), update = () => this.update();
    model.on("change:text", update);
    this.leave = () => {
      model.off("change:text", update);
      forget();
    };
    this.update();
  }

  showMe() {
    this.model.set("asked", true);
    this.model.save_changes();
  }

  update() {
    const text = this.model.get("text"), live = this.model.get("live") !== false;
    if (text) this.text.innerHTML = text; // the kit's own text; the learner's words in it are escaped
    else this.text.textContent = live ? "Your prediction first: answer the question above, then it is compared here." : "";
    this.ask.hidden = text !== "" || !live;
    this.root.hidden = text === "" && !live;
  }
}

export default entry(Verdict);
