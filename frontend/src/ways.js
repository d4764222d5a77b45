// Graph search: which nodes can be reached along edges.

// Return the successors and predecessors of each node: { on, back }.
export function neighboursOf(edges) {
  const found = { on: new Map(), back: new Map() };
  const put = (map, from, to) => (map.get(from) ?? map.set(from, []).get(from)).push(to);
  for (const { parent, child } of edges) {
    put(found.on, parent, child);
    put(found.back, child, parent);
  }
  return found;
}

// Return `starts` and all nodes reachable from them by `steps`.
export function reached(steps, starts) {
  const found = new Set(starts), todo = [...starts];
  while (todo.length)
    for (const next of steps.get(todo.pop()) ?? [])
      if (!found.has(next)) {
        found.add(next);
        todo.push(next);
      }
  return found;
}

// Return the nodes on all paths from one of `starts` to one of `ends`.
export function between({ on, back }, starts, ends) {
  const behind = reached(back, ends);
  return new Set([...reached(on, starts)].filter((node) => behind.has(node)));
}
