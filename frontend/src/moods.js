// Verb forms for what happened and for what would happen: a dry run is described in the conditional.
export function rehearsed(trace) {
  return trace.meta.backward === "dry";
}

export function mood(trace, happened, would) {
  return rehearsed(trace) ? would : happened;
}

// Mirror of state_word in trace/captions/sentences.py. `name`: the learner's variable for a returned gradient;
// `would`: in a dry run.
export function stateWord(state, name = "", would = false) {
  if (state === "returned") return name ? `returned as ${name}` : "returned by grad()";
  return STATES[state][would ? 1 : 0];
}

// Return how complete the gradients of a closed part are.
export function partWord(trace, state) {
  const done = { contribution: ["in progress", "would be in progress"], accumulated: ["done", "would be done"], returned: ["returned", ""] };
  return done[state] ? mood(trace, ...done[state]) : stateWord(state, "", rehearsed(trace));
}
