// Playing: one clock per model, however many views show it.
import { clamp } from "./dom.js";
import { beatsOf } from "./unpack.js";

// Return the number of steps; the frames of a big trace are stored as columns.
export function stepCount(model) {
  const { frames } = model.get("data");
  return frames.length ?? frames.node.length;
}

// Return the last step, or the step at which a question is open.
export function lastStep(model) {
  const ids = model.get("asked")?.split(" ") ?? [], open = (model.get("questions") ?? []).filter(({ id }) => ids.includes(id));
  return Math.max(0, Math.min(stepCount(model) - 1, ...open.map(({ until }) => until)));
}

// Return where Next and playing stop: at the end of each beat if there are beats, else at every frame.
export function nextStop(model, step) {
  const beats = beatsOf(model.get("data"));
  return beats.length ? (beats.find(({ last }) => last > step)?.last ?? step) : step + 1;
}

// Return the last frame of the beat that contains a frame.
export function endOfStep(model, frame) {
  return beatsOf(model.get("data")).find(({ last }) => last >= frame)?.last ?? frame;
}

export function previousStop(model, step) {
  const beats = beatsOf(model.get("data"));
  if (!beats.length) return step - 1;
  const now = beats.findIndex(({ last }) => last >= step);
  return now > 0 ? beats[now - 1].last : 0;
}

const waiting = new WeakMap(); // model -> what to do when the learner wants to pass an open question

export function whenHeld(model, act) {
  if (!waiting.has(model)) waiting.set(model, new Set());
  waiting.get(model).add(act);
  return () => waiting.get(model).delete(act);
}

const isHeld = (model, step) => step >= lastStep(model) && lastStep(model) < stepCount(model) - 1;
const tellHeld = (model) => waiting.get(model)?.forEach((act) => act());

// Go to a step and end playing. Say so if an open question is in the way.
export function goTo(model, step) {
  const target = clamp(step, 0, lastStep(model)), now = model.get("step");
  if (step > now && isHeld(model, now)) tellHeld(model);
  if (target === now) return;
  model.set("step", target);
  model.set("playing", false);
  model.save_changes();
}

export function setPlaying(model, playing) {
  if (playing && isHeld(model, model.get("step"))) return tellHeld(model);
  if (playing && model.get("step") >= lastStep(model)) model.set("step", 0);
  model.set("playing", playing);
  model.save_changes();
}

// While it plays, a sentence a second would never let a screen reader finish. At the end, the caller rewrites the
// sentence so that it is read out.
export function quietWhilePlaying(sentence, model) {
  sentence.setAttribute("aria-live", model.get("playing") ? "off" : "polite");
}

// Return how many numbers move in the current beat: playing waits that many intervals.
function numbersAt(model) {
  const beats = beatsOf(model.get("data")), step = model.get("step"), beat = beats.find(({ first, last }) => first <= step && step <= last);
  return beat?.phase === "backward" ? Math.min(2, Math.max(1, beat.parts.length)) : 1;
}

export function startClock(model) {
  let timer = 0;
  const tick = () => {
    const last = lastStep(model), step = Math.min(last, nextStop(model, model.get("step")));
    model.set("step", step);
    if (step === last) model.set("playing", false);
    model.save_changes();
    wind();
  };
  const wind = () => {
    clearTimeout(timer);
    if (model.get("playing")) timer = setTimeout(tick, model.get("interval") * numbersAt(model));
  };
  model.on("change:playing", wind);
  model.on("change:interval", wind);
  wind();
  return () => {
    clearTimeout(timer);
    model.off("change:playing", wind);
    model.off("change:interval", wind);
  };
}
