// A phone's page: one question, answered once in each vote. After the # stand the room's code, the question's name and, where
// the room does not know them, the answers offered. A random word in this browser tells one phone from another; no name is asked.
const place = (id) => document.getElementById(id);
const form = place("form"), [send] = form.getElementsByTagName("button");
const TURNED_AWAY = { 403: "The room has another code: look at the big screen.", 429: "Too many messages: wait a moment, then send again." };
let code = "", id = "", offered = [], round = 0, watched = 0;

// What this browser remembers; a private window may forbid it, then as long as the page is open.
const memory = new Map();
function remember(name, value) {
  memory.set(name, value);
  try { localStorage.setItem(`autolab ${name}`, value); } catch { /* forbidden */ }
}
function remembered(name) {
  try { return localStorage.getItem(`autolab ${name}`) ?? memory.get(name) ?? ""; } catch { return memory.get(name) ?? ""; }
}
const voted = () => `${location.host} ${code} ${id} ${round}`;

function who() {
  const name = `${location.host} ${code}`;
  if (!remembered(name)) {
    const bytes = crypto.getRandomValues(new Uint8Array(8));
    remember(name, [...bytes].map((b) => b.toString(16).padStart(2, "0")).join(""));
  }
  return remembered(name);
}

function make(tag, parent, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.append(text);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
}

// Text with `code` between backquotes.
function words(parent, text) {
  parent.replaceChildren();
  text.split("`").forEach((part, i) => part && parent.append(i % 2 ? make("code", null, part) : part));
}

const say = (text) => { place("said").textContent = text; };
const answers = () => form.elements.namedItem("answer");

function show(asked) {
  const again = round > 0 && asked.round > round;
  round = asked.round;
  words(place("ask"), (asked.ask || `Question ${id}`) + (round > 1 ? " (second vote)" : ""));
  const choices = asked.choices.length ? asked.choices : offered;
  place("answers").replaceChildren();
  for (const choice of choices) {
    const label = make("label", place("answers"));
    make("input", label, "", { type: "radio", name: "answer", value: choice, required: "" });
    words(make("span", label), choice);
  }
  if (!choices.length) {
    make("input", place("answers"), "", { type: "text", name: "answer", maxlength: "200", required: "", "aria-labelledby": "ask", autocomplete: "off" });
  }
  place("ask-code").hidden = Boolean(code);
  place("code").required = !code;
  form.hidden = false;
  const before = code && remembered(voted());
  rest(Boolean(before));
  if (before) say(`Sent: ${before}. The first answer counts; now look at the big screen.`);
  else say(again ? "Vote again: you may have changed your mind." : "");
}

function rest(done) {
  send.disabled = done;
  form.getElementsByTagName("fieldset")[0].disabled = done;
}

function list(questions) {
  form.hidden = true;
  place("open").hidden = false;
  place("open").replaceChildren();
  for (const one of questions) {
    const link = make("a", make("p", place("open")), "", { href: `#${[code, one.id].map(encodeURIComponent).join("/")}` });
    words(link, one.ask || one.id);
  }
  say(questions.length ? "" : "No question is open. A question appears here after its first answer.");
}

async function look() {
  const asking = id;
  try {
    const asked = await (await fetch(`question?id=${encodeURIComponent(id)}`)).json();
    if (asking !== id) return;
    if (!id) list(asked.questions);
    else if (asked.round !== round) show(asked);
  } catch {
    say("The room does not answer. Are you in its network?");
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = answers().value.trim(), typed = code || place("code").value.trim().toUpperCase();
  if (!given || !typed) return say("Type an answer and the room's code.");
  send.disabled = true;
  const before = code;
  code = typed;
  const body = JSON.stringify({ code, who: who(), id, given });
  try {
    const reply = await fetch("answer", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!reply.ok) {
      code = reply.status === 403 ? "" : before;  // to be typed anew
      place("ask-code").hidden = Boolean(code);
      place("code").required = !code;
      send.disabled = false;
      return say(TURNED_AWAY[reply.status] ?? `Not sent: ${await reply.text()}.`);
    }
    remember(voted(), given);
    remember(`${location.host} code`, code);
    place("ask-code").hidden = true;
    rest(true);
    say(`Sent: ${given}. The first answer counts; now look at the big screen.`);
  } catch {
    code = before;
    send.disabled = false;
    say("Not sent: the room does not answer. Are you in its network?");
  }
});

async function watch(mine) {
  await look();
  if (mine === watched) setTimeout(() => mine === watched && watch(mine), 3000);
}

function begin() {
  [code, id = "", ...offered] = location.hash.slice(1).split("/").map(decodeURIComponent);
  code ||= remembered(`${location.host} code`);
  round = 0;
  place("open").hidden = Boolean(id);
  watched += 1;
  watch(watched);
}
addEventListener("hashchange", begin);
begin();
