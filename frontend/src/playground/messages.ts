// The messages between the page and the Python worker.

export type Output =
  | { kind: "text"; stream: "out" | "err"; text: string }
  | { kind: "error"; text: string }
  | { kind: "page"; title: string; html: string }
  | { kind: "svg"; svg: string };

export type FromWorker =
  | { kind: "progress"; text: string }
  | { kind: "ready" }
  | { kind: "broken"; text: string }
  | { kind: "output"; run: number; output: Output }
  | { kind: "done"; run: number; ok: boolean };

export type ToWorker = { kind: "run"; run: number; code: string };
