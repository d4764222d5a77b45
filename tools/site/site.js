// A page of a lesson: what a question asks for is shown when it was answered, or when one asks for it.
(async () => {
  const waiting = [...document.querySelectorAll(".awaits")];
  for (const place of waiting) place.hidden = true;
  const stops = () => { // for the Tab key; the theme makes them of what scrolls, but neither of what was hidden nor of tables
    for (const box of document.querySelectorAll("pre, .shown")) if (box.scrollWidth > box.clientWidth)
      Object.assign(box, { tabIndex: 0, role: "group", ariaLabel: box.ariaLabel ?? "Code or output" });
  };
  const open = (of) => {
    for (const place of waiting) if (place.dataset.of === of) place.hidden = false;
    stops();
    for (const button of document.querySelectorAll(".show-anyway")) if (button.dataset.of === of) button.remove();
  };
  for (const button of document.querySelectorAll(".show-anyway")) {
    if (!waiting.some((place) => place.dataset.of === button.dataset.of)) button.remove();
    button.hidden = false;
    button.addEventListener("click", () => open(button.dataset.of));
  }
  if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done));
  await window.autolabShown;
  for (const [id, model] of Object.entries(window.autolabModels ?? {})) {
    if (!model.state || !("verdicts" in model.state || "choices" in model.state)) continue;
    model.on("change:answer", () => model.get("answer") && open(id));
  }
  addEventListener("resize", stops);
  stops();
  document.documentElement.dataset.lesson = "ready";
})();
