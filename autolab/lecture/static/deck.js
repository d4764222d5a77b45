// What connects reveal.js with the widgets of a deck: steps of an explorer are fragments, and what a press of a key shows next.
const { Reveal } = window, PLACE = ".autolab[data-model]";
const models = () => window.autolabModels ?? {};
const printed = /print-pdf/i.test(location.search);
let own = false; // whether it is this script that moves an explorer, or the slides

// -- explorers ---------------------------------------------------------------------------------------------------------

const stepsOf = (slide, id) => [...slide.querySelectorAll(".fragment.step")].filter((step) => step.dataset.of === id);
const stepped = (slide) => [...new Set([...(slide?.querySelectorAll(".fragment.step") ?? [])].map((step) => step.dataset.of))];

// Explorers of this slide show the step that its fragments have come to.
function follow(slide = Reveal.getCurrentSlide()) {
  if (own) return;
  for (const id of stepped(slide)) {
    const model = models()[id], seen = stepsOf(slide, id).filter((step) => printed || step.classList.contains("visible"));
    if (!model) continue;
    own = true;
    model.set("playing", false);
    const wanted = seen.length ? Number(seen.at(-1).dataset.step) : 0, tellsMore = show(model, wanted);
    model.set("step", Math.min(Math.max(wanted, tellsMore), held(model)));
    own = false;
    if (tellsMore > wanted && !printed) lead(id);
  }
}

// The questions of an explorer that are open, and the last step that they let be seen.
const openIn = (model) => (model.get("asked") ?? "").split(" ").flatMap((id) => (model.get("questions") ?? []).filter((asked) => asked.id === id));
const held = (model) => Math.min(...openIn(model).map(({ until }) => until), Infinity);

// A press that goes beyond an open question answers it, as "Show me" does. Returns the step that tells the answer.
function show(model, step) {
  let told = -1;
  for (let [now, ...rest] = openIn(model); now && (printed || now.until < step); [now, ...rest] = openIn(model)) {
    const replies = model.get("replies") ?? {}, before = replies[now.id] ?? { answer: "", tries: 0, given: null };
    model.set("replies", { ...replies, [now.id]: { ...before, right: false, shown: true, over: true } });
    model.set("asked", rest.map(({ id }) => id).join(" "));
    told = now.shows;
  }
  return told;
}

// The other way round: an explorer was stepped by its own buttons, keys or slider.
function lead(id) {
  const slide = Reveal.getCurrentSlide(), step = models()[id].get("step");
  if (own || !slide || !stepped(slide).includes(id)) return;
  const reached = stepsOf(slide, id).filter((stop) => Number(stop.dataset.step) <= step).at(-1);
  const first = Number(stepsOf(slide, id)[0].dataset.fragmentIndex) - 1;
  const { h, v } = Reveal.getIndices(slide);
  own = true;
  Reveal.slide(h, v, reached ? Number(reached.dataset.fragmentIndex) : first);
  own = false;
}

// -- predictions -------------------------------------------------------------------------------------------------------

// A question is answered where its reveal has come on the screen, and open again before.
function tell() {
  for (const place of document.querySelectorAll(".revealed")) {
    const model = models()[place.dataset.of], { actual, because } = JSON.parse(place.dataset.told);
    if (!model) continue;
    const slide = place.closest("section:not(.stack)"), here = place.closest(".fragment")?.classList.contains("visible") ?? slide.classList.contains("present");
    const reached = printed || slide.classList.contains("past") || slide.parentElement.classList.contains("past") || here;
    model.set("actual", reached ? actual : "");
    const why = because[model.get("answer")], known = place.querySelector(".because");
    known?.remove();
    if (!reached || !why || model.get("answer") === actual) continue;
    place.append(Object.assign(document.createElement("p"), { className: "because", textContent: why }));
  }
}

// -- keys --------------------------------------------------------------------------------------------------------------

const ways = { PageDown: "next", PageUp: "prev" }, arrows = { ArrowRight: "next", ArrowLeft: "prev" };

// The keys of a clicker are the deck's wherever the focus is; arrows in an explorer are its own until it is at its end.
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  let way = ways[event.key];
  const place = event.target.closest?.(PLACE);
  if (!way && place && arrows[event.key] && !event.composedPath()[0].matches("input, select, textarea")) {
    const id = place.dataset.model, steps = stepsOf(Reveal.getCurrentSlide(), id), step = models()[id]?.get("step");
    const ends = { ArrowRight: Number(steps.at(-1)?.dataset.step), ArrowLeft: 0 };
    if (step === ends[event.key]) way = arrows[event.key];
  }
  if (!way) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  Reveal[way]();
}

// What is typed or pressed in a widget is not for the slides.
const forTheDeck = (event) => !event.target?.closest?.(`${PLACE}, summary, a, [role=group]`) || ways[event.key] !== undefined;

// -- the speaker's window ----------------------------------------------------------------------------------------------

let speaker = null, begun = 0, clock = 0;

function openNotes() {
  speaker = window.open("", "autolab-notes", "width=900,height=700");
  if (!speaker) return Reveal.configure({ showNotes: true }); // no second window here: below the slide
  begun ||= Date.now();
  speaker.document.title = `Notes: ${document.title}`;
  speaker.document.documentElement.lang = "en";
  speaker.document.body.innerHTML = '<p id="where"></p><h1 id="now"></h1><main id="notes"></main><p id="then"></p><p id="clock"></p>';
  const style = speaker.document.createElement("style");
  style.textContent = document.querySelector("style").textContent;
  speaker.document.head.replaceChildren(style);
  speaker.document.body.className = "speaker";
  speaker.onkeydown = (event) => {
    const way = { ...ways, ...arrows, " ": "next" }[event.key];
    if (way) Reveal[way]();
  };
  clearInterval(clock);
  clock = setInterval(tick, 1000);
  writeNotes();
  tick();
}

function tick() {
  if (speaker.closed) return clearInterval(clock);
  const seconds = Math.floor((Date.now() - begun) / 1000), two = (n) => String(n).padStart(2, "0");
  const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  speaker.document.getElementById("clock").textContent = `${time}, ${two(Math.floor(seconds / 60))}:${two(seconds % 60)} since these notes were opened`;
}

const headingOf = (slide) => slide?.querySelector("h1, h2, h3, .running")?.textContent ?? "";

function writeNotes() {
  if (!speaker || speaker.closed) return;
  const slide = Reveal.getCurrentSlide(), all = Reveal.getSlides(), place = all.indexOf(slide), at = (id) => speaker.document.getElementById(id);
  const steps = slide.querySelectorAll(".fragment"), seen = slide.querySelectorAll(".fragment.visible");
  at("where").textContent = `Slide ${place + 1} of ${all.length}${steps.length ? `, ${seen.length} of ${steps.length} presses` : ""}`;
  at("now").textContent = headingOf(slide);
  at("notes").innerHTML = slide.querySelector("aside.notes")?.innerHTML ?? "<p>No notes for this slide.</p>";
  const next = all[place + 1];
  const words = next && [headingOf(next), next.querySelector(".body")?.innerText.trim().slice(0, 160)].filter(Boolean).join(": ");
  at("then").textContent = next ? `Next: ${words}` : "This is the last slide.";
}

// -- beginning ---------------------------------------------------------------------------------------------------------

function changed() {
  follow();
  tell();
  writeNotes();
}

function turnTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.setAttribute("theme", (root.getAttribute("theme") ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark");
}

const keyboard = { 83: openNotes, 84: turnTheme };
await Reveal.initialize({
  // The page lays the slides out: a widget measures itself, which a scaled slide would belie.
  ...{ disableLayout: !printed, scrollActivationWidth: null, width: 1280, height: 720, margin: 0, center: false },
  ...{ hash: true, navigationMode: "linear", transition: "none", backgroundTransition: "none", overview: false, slideNumber: "c/t" },
  ...{ hideInactiveCursor: false, controlsTutorial: false, pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1 },
  ...{ keyboard, keyboardCondition: forTheDeck },
});
Reveal.addKeyBinding({ keyCode: 83, key: "S", description: "Speaker notes" }, openNotes);
Reveal.addKeyBinding({ keyCode: 84, key: "T", description: "Light or dark" }, turnTheme);
addEventListener("keydown", onKey, true);
for (const name of ["slidechanged", "fragmentshown", "fragmenthidden"]) Reveal.on(name, changed);
await window.autolabShown;
for (const id of new Set([...document.querySelectorAll(".fragment.step")].map((step) => step.dataset.of))) models()[id]?.on("change:step", () => lead(id));
if (printed) for (const slide of Reveal.getSlides()) follow(slide);
changed();
document.documentElement.dataset.ready = "true";
