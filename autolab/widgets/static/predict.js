// A prediction. Uses only model.get/set/on/off/save_changes, so any host that offers these can show it.

let count = 0;      // radio buttons of one question share a name that no other question has

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// `code` between backquotes becomes <code>; everything else stays text, never markup.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

function render({ model, el }) {
  const name = `al-predict-${(count += 1)}`;
  const kind = model.get("kind");
  const form = element("form", { class: "al-predict", "data-lm-suppress-shortcuts": "true" });
  const group = element("fieldset", {}, element("legend", {}, element("strong", {}, "Predict "), ...prose(model.get("question"))));
  const keep = element("button", { type: "submit" }, "Keep this prediction");
  const said = element("p", { role: "status", "aria-live": "polite" });
  const inputs = kind === "choice" ? radios() : [typed()];

  function radios() {
    return model.get("choices").map((choice) => {
      const radio = element("input", { type: "radio", name, value: choice });
      group.append(element("label", {}, radio, element("span", {}, ...prose(choice))));
      return radio;
    });
  }

  function typed() {
    const label = kind === "number" ? "Your number" : "Your answer";
    const input = element("input", { type: "text", autocomplete: "off", "aria-label": label });
    if (kind === "number") input.setAttribute("inputmode", "decimal");
    group.append(element("label", {}, element("span", {}, label), input));
    return input;
  }

  function chosen() {
    return kind === "choice" ? (inputs.find((input) => input.checked)?.value ?? "") : inputs[0].value.trim();
  }

  function isNumber(text) {
    return /^[[(]/.test(text) || Number.isFinite(Number(text.replaceAll(",", "")));
  }

  function update() {
    const answer = model.get("answer"), actual = model.get("actual");
    for (const input of inputs) {
      if (kind === "choice") input.checked = input.value === answer;
      else if (answer) input.value = answer;
    }
    group.disabled = keep.disabled = actual !== "";
    if (actual) said.textContent = answer ? `You predicted ${answer}. It is ${actual}.` : `It is ${actual}.`;
    else said.textContent = answer ? `Kept: ${answer}. Run on, then compare.` : "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = chosen();
    if (!answer) said.textContent = "Choose or type an answer first.";
    else if (kind === "number" && !isNumber(answer)) said.textContent = "A number is wanted here.";
    else {
      model.set("answer", answer);
      model.save_changes();
    }
  });
  model.on("change:answer", update);
  model.on("change:actual", update);
  form.append(group, keep, said);
  el.append(form);
  update();
  return () => {
    model.off("change:answer", update);
    model.off("change:actual", update);
  };
}

export default { render };
