// The page of a room: asks for its state every second, and changes what is new. The instructor's has a key after the #.
// It is taken out of the address, which the class sees, and kept for when the page is loaded again.
if (location.hash) {
  sessionStorage.setItem("room", location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
const key = sessionStorage.getItem("room") ?? "", headers = key ? { "X-Room-Key": key } : {};
const place = (id) => document.getElementById(id);
const cards = new Map();  // id of a question -> its section and parts
let before = "", answered = true;

function make(tag, parent, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
}

const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// Text with `code` between backquotes.
function words(parent, text) {
  parent.replaceChildren();
  text.split("`").forEach((part, i) => part && parent.append(i % 2 ? make("code", null, part) : part));
}

function card(id, name) {
  const section = make("section", null, "", { "aria-labelledby": `h-${id}` });
  const head = make("h2", section, "", { id: `h-${id}` });
  const one = { section, head, answers: make("p", section, "", { class: "answers" }) };
  if (key) {
    one.button = make("button", section, "", { type: "button", "aria-expanded": "false" });
    one.button.addEventListener("click", () => {
      const shown = one.button.getAttribute("aria-expanded") !== "true";
      tell("release", { id, shown }, `${name}: ${shown ? "shown" : "hidden"}.`);
    });
    if (id !== "inventory") one.again = make("button", section, "Vote again", { type: "button", "aria-label": `Vote again on ${id}` });
    one.again?.addEventListener("click", () => {
      tell("again", { id }, `${id}: the second vote is open, the answers are hidden.`);
      one.button.focus();  // this one goes
    });
  }
  one.table = make("div", section, "", { class: "wide" });
  cards.set(id, one);
  return one;
}

function tell(what, told, done) {
  const body = JSON.stringify(told);
  fetch(what, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body })
    .then(async (reply) => {
      place("said").textContent = reply.ok ? done : `Not done: ${await reply.text()}.`;
      await look();
    })
    .catch(() => { place("said").textContent = "Not done: the room does not answer."; });
}

function press(one, name, shown) {
  if (!one.button) return;
  one.button.textContent = shown ? "Hide" : "Show";
  one.button.setAttribute("aria-label", `${shown ? "Hide" : "Show"} ${name}`);
  one.button.setAttribute("aria-expanded", String(shown));
}

function table(one, caption, heads) {
  const made = make("table", null);
  make("caption", made, caption);
  const row = make("tr", make("thead", made));
  heads.forEach(([text, kind]) => make("th", row, text, { scope: "col", class: kind }));
  one.table.replaceChildren(made);
  return make("tbody", made);
}

const VOTES = ["first vote", "second vote"];

function question(asked) {
  const name = `answers to ${asked.id}`, one = cards.get(asked.id) ?? card(asked.id, name), votes = asked.answers.length;
  const ofAll = (n, of) => (of ? Math.round((100 * n) / of) : 0);
  words(one.head, asked.ask ? `${asked.id}  ${asked.ask}` : asked.id);
  const counted = asked.answers.map((n, i) => count(n, "answer") + (votes > 1 ? ` in the ${VOTES[i]}` : "")).join(", ");
  one.answers.textContent = counted + (asked.released ? "" : ", hidden");
  press(one, name, asked.released);
  if (one.again) one.again.hidden = asked.last;
  if (!asked.released) one.table.replaceChildren();
  else {
    const heads = asked.answers.flatMap((_, i) => [[votes > 1 ? VOTES[i] : "students", "count"], ["part of all", "part"]]);
    const caption = "The first answer of each student counts" + (votes > 1 ? ", in each vote." : ".");
    const body = table(one, caption, [["answer", "answer"], ...heads]);
    for (const bar of asked.bars) {
      const row = make("tr", body, "", bar.right ? { class: "right" } : {});
      words(make("th", row, "", { scope: "row", class: "answer" }), bar.text + (bar.right ? " ✓ right" : ""));
      bar.counts.forEach((n, i) => {
        const all = asked.answers[i], when = votes > 1 ? ` in the ${VOTES[i]}` : "";
        make("td", row, String(n), { class: "count" });
        const of = `${ofAll(n, all)} percent of all gave the answer ${bar.text}${when}`;
        make("progress", make("td", row, "", { class: "part" }), "", { max: all || 1, value: n, "aria-label": of });
      });
    }
  }
  return one.section;
}

// Where phones go, and the same as a QR code: black squares.
async function phones() {
  const { address, side, path } = await (await fetch("code", { headers })).json();
  const link = place("phone").querySelector("a");
  link.href = address;
  link.textContent = address.replace(/#.*/, "").replace("http://", "");
  if (side) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const parts = [["rect", { class: "light", width: side, height: side }], ["path", { class: "dark", d: path }]];
    for (const [tag, attributes] of [["", { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "QR code: answer by phone" }], ...parts]) {
      const made = tag ? svg.appendChild(document.createElementNS(svg.namespaceURI, tag)) : svg;
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    }
    link.append(svg);
    const larger = make("button", place("phone"), "Larger", { type: "button", "aria-pressed": "false", "aria-label": "Larger QR code" });
    larger.addEventListener("click", () => larger.setAttribute("aria-pressed", String(place("phone").classList.toggle("large"))));
  }
  place("phone").hidden = false;
}

function inventory(gain) {
  const name = "what the class gained", one = cards.get("inventory") ?? card("inventory", name);
  one.head.textContent = "The inventory";
  one.answers.textContent = `${count(gain.students, "student")} handed in both sittings${gain.released ? "" : ", hidden"}`;
  press(one, name, gain.released);
  if (!gain.released) one.table.replaceChildren();
  else {
    const heads = ["before", "after", "gain"];
    const caption = "Percent right; gain: (after - before) / (100 - before), Hake's normalised gain.";
    const body = table(one, caption, [["idea", "answer"], ...heads.map((text) => [text, "number"])]);
    for (const line of gain.rows.filter((one) => one.before)) {  // beliefs that share an idea have one line
      const row = make("tr", body);
      make("th", row, line.idea, { scope: "row", class: "answer" });
      heads.forEach((head) => make("td", row, line[head] || "-", { class: "number" }));
    }
  }
  return one.section;
}

function show(state) {
  if (state.code) words(place("join"), `In a notebook: \`autolab.room("${state.address}", "${state.code}")\``);
  place("students").textContent = state.students ? `${count(state.students, "student")} joined.` : "Nobody is here yet.";
  const sections = state.questions.map(question);
  if (state.inventory.students) sections.push(inventory(state.inventory));
  place("none").hidden = sections.length > 0;
  const { answers, questions } = state.unknown, one = questions === 1;
  const yours = `Yours? \`autolab-kit room serve --questions NOTEBOOK\` goes on here, and shows ${one ? "it" : "them"}.`;
  place("unknown").hidden = !answers;
  words(place("unknown"), `${count(answers, "answer")} to ${count(questions, "question")} that ${one ? "is" : "are"} not in the course. ${key ? yours : ""}`);
  // Only what is new is put in: a button that is focused stays where it is.
  sections.forEach((section, i) => {
    const next = sections.slice(i + 1).find((other) => other.isConnected) ?? null;
    if (!section.isConnected) place("questions").insertBefore(section, next);
  });
}

async function look() {
  try {
    const text = await (await fetch("state", { headers })).text();
    if (text !== before) show(JSON.parse(text));
    if (!answered) place("said").textContent = "The room answers again.";
    before = text;
    answered = true;
  } catch {
    if (answered) place("said").textContent = "The room does not answer. This page shows its last state.";
    answered = false;
  }
}

async function watch() {
  await look();
  setTimeout(watch, key ? 1000 : 3000);
}
watch();
if (key) phones();
