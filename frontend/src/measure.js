// Bytes and seconds as text: `size` and `duration` in trace/devices/text.py are the same functions.

function threeDigits(value) {
  return value >= 999.5 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

export function bytesWords(count) {
  for (const [unit, power] of [["GiB", 30], ["MiB", 20], ["KiB", 10]])
    if (count >= 2 ** power) return `${threeDigits(count / 2 ** power)} ${unit}`;
  return count === 1 ? "1 byte" : `${count} bytes`;
}

export function timeWords(seconds) {
  for (const [unit, length] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]])
    if (seconds >= length * 0.9995) return `${threeDigits(seconds / length)} ${unit}`;
  return seconds < 5e-10 ? "0 s" : `${threeDigits(seconds * 1e9)} ns`;
}

// A recording of devices for the script: items by id, and the state after a step. The methods of DeviceTrace in
// trace/devices/model.py return the same.
export class Story {
  constructor(data) {
    Object.assign(this, data);
    this.steps = data.frames;
    this.byId = new Map([...data.tensors, ...data.copies, ...data.kernels, ...data.waits, ...data.refusals].map((r) => [r.id, r]));
    this.stepOf = new Map();
    for (const { index, items } of this.steps) for (const id of items) if (!this.stepOf.has(id)) this.stepOf.set(id, index);
    // The selectable items on the timeline, in the order in which they happened.
    this.events = this.steps.flatMap(({ items, phase }) => (["free", "allocate"].includes(phase) ? [] : [this.byId.get(items[0])]));
    this.work = new Map(data.devices.map(({ name }) => [name, []]));
    for (const item of [...data.kernels, ...data.copies]) this.work.get(queueOf(item))?.push(item);
    for (const list of this.work.values()) list.sort((a, b) => a.start - b.start);
  }

  now(step) {
    return this.steps[step]?.time ?? 0;
  }

  alive(step, device) {
    const here = (t) => t.device === device && t.born_step <= step && (t.died_step === null || step < t.died_step);
    return this.tensors.filter(here);
  }

  // Return the unfinished kernels and copies in a device's queues.
  queue(step, device) {
    const now = this.now(step);
    return this.steps.length ? this.work.get(device).filter((item) => item.queued <= now && now < item.end) : [];
  }

  // Return the bytes allocated on a device after a step; on the CPU, of the known tensors.
  inUse(step, device) {
    const points = this.memory[device];
    if (device === "cpu") return this.alive(step, device).reduce((sum, t) => sum + t.taken, 0);
    const before = this.devices.find(({ name }) => name === device).before;
    return points?.findLast(([, at]) => at <= step)?.[2] ?? before;
  }

  // Return the state at the host's time after a step: "" (not yet), "queued", "running" or "done".
  state(item, step) {
    if ((this.stepOf.get(item.id) ?? 0) > step) return "";
    const now = this.now(step);
    return item.end <= now ? "done" : item.start <= now ? "running" : "queued";
  }
}

export function queueOf(item) {
  return item.device ?? (item.target === "cpu" ? item.origin : item.target);
}

export function nameOfTensor(tensor) {
  return tensor.name || `[${tensor.shape.join(", ")}]`;
}

// Return the name of a recording's item in a list or beside a picture.
export function nameOfItem(story, item) {
  if (item.origin) {
    const what = story.byId.get(item.tensor || item.made);
    return `copy${what ? ` of ${nameOfTensor(what)}` : ""} ${item.origin} → ${item.target}`;
  }
  return { t: () => nameOfTensor(item), k: () => item.name, w: () => `wait for ${item.device}`, o: () => "out of memory" }[item.id[0]]();
}
