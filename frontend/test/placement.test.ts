import { describe, expect, it } from "vitest";
import { layout, path, type Box, type Frame, type Line, type Placed } from "../src/placement";

const box = (key: string, frame: string | null = null, width = 100, height = 60): Box => ({
  key,
  width,
  height,
  frame,
});
const line = (id: string, start: string, end: string, label?: { width: number; height: number }): Line => ({
  id,
  start,
  end,
  ...(label ? { label } : {}),
});

function overlaps(placed: Placed, boxes: Box[]): string[] {
  const found: string[] = [];
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) {
      const [p, q] = [placed.boxes.get(a.key), placed.boxes.get(b.key)];
      if (p && q && p.x < q.x + b.width && q.x < p.x + a.width && p.y < q.y + b.height && q.y < p.y + a.height)
        found.push(`${a.key} ${b.key}`);
    }
  return found;
}

describe("layout", () => {
  const boxes = ["x", "a", "b", "z"].map((key) => box(key));
  const label = { width: 100, height: 26 };
  const lines = [
    line("0", "x", "a", label),
    line("1", "x", "a", label),
    line("2", "x", "b", label),
    line("3", "a", "z", label),
    line("4", "b", "z", label),
  ];

  it("puts what is computed later further along, and nothing over anything", () => {
    const placed = layout(boxes, lines, [], { direction: "LR" });
    const at = (key: string) => placed.boxes.get(key)?.x ?? NaN;
    expect(at("x")).toBeLessThan(at("a"));
    expect(at("a")).toBe(at("b"));
    expect(at("b")).toBeLessThan(at("z"));
    expect(overlaps(placed, boxes)).toEqual([]);
    const labels = [...placed.labels.values()].filter(({ x }) => x < at("a")).sort((p, q) => p.y - q.y);
    expect(labels).toHaveLength(3);
    for (const [i, one] of labels.slice(1).entries()) expect(one.y - (labels[i]?.y ?? 0)).toBeGreaterThanOrEqual(26);
  });

  it("uses the room that there is, and no more", () => {
    const [small, wide] = [600, 934].map((room) => layout(boxes, lines, [], { direction: "LR", room }));
    expect(wide?.width).toBeGreaterThan(small?.width ?? Infinity);
    expect(wide?.width).toBeLessThanOrEqual(934);
  });

  it("keeps the boxes of a part inside its frame, and leads lines in from its side", () => {
    const inside = [box("x"), box("a", "g"), box("b", "g"), box("z")];
    const frames: Frame[] = [{ id: "g", parent: null, width: 120, height: 28 }];
    const placed = layout(
      inside,
      [line("0", "x", "a"), line("1", "a", "b"), line("2", "b", "z"), line("3", "x", "z")],
      frames,
      { direction: "LR" },
    );
    const frame = placed.frames.get("g");
    if (!frame) throw new Error("no frame");
    for (const key of ["a", "b"]) {
      const at = placed.boxes.get(key);
      expect(
        at &&
          at.x > frame.x &&
          at.x + 100 < frame.x + frame.width &&
          at.y > frame.y + 28 &&
          at.y + 60 < frame.y + frame.height,
      ).toBe(true);
    }
    for (const key of ["x", "z"]) {
      const at = placed.boxes.get(key);
      expect(at && (at.x + 100 < frame.x || at.x > frame.x + frame.width)).toBe(true);
    }
    expect(placed.lines.get("0")?.at(-1)?.x).toBe(placed.boxes.get("a")?.x);
    expect(placed.lines.get("2")?.[0]?.x).toBe((placed.boxes.get("b")?.x ?? 0) + 100);
  });

  it("runs down the page when it is turned", () => {
    const placed = layout(boxes, lines, [], { direction: "TB" });
    expect(placed.boxes.get("x")?.y).toBeLessThan(placed.boxes.get("a")?.y ?? 0);
    expect(overlaps(placed, boxes)).toEqual([]);
  });

  it("draws frames that lead to each other", () => {
    const mixed = [box("a", "g"), box("b", "h"), box("c", "g"), box("d", "h")];
    const frames = ["g", "h"].map((id) => ({ id, parent: null, width: 50, height: 20 }));
    const placed = layout(mixed, [line("0", "a", "b"), line("1", "b", "c"), line("2", "c", "d")], frames, {
      direction: "LR",
    });
    expect(placed.boxes.size).toBe(4);
    expect(overlaps(placed, mixed)).toEqual([]);
  });

  it("lays out two thousand boxes in little time, also where others compute", () => {
    const many = Array.from({ length: 2000 }, (_, i) => box(`n${i}`));
    const links = many
      .slice(1)
      .flatMap((_, i) => [
        line(`a${i}`, `n${i}`, `n${i + 1}`),
        ...(i > 2 && i % 5 === 0 ? [line(`b${i}`, `n${i - 3}`, `n${i + 1}`)] : []),
      ]);
    const start = performance.now();
    layout(many, links, [], { direction: "LR" });
    expect(performance.now() - start).toBeLessThan(6000);
  });
});

describe("path", () => {
  it("is straight where the ends are level, else a curve", () => {
    expect(
      path(
        [
          { x: 0, y: 5 },
          { x: 10, y: 5 },
        ],
        "LR",
      ),
    ).toBe("M0 5L10 5");
    expect(
      path(
        [
          { x: 0, y: 0 },
          { x: 10, y: 8 },
        ],
        "LR",
      ),
    ).toBe("M0 0C5 0 5 8 10 8");
    expect(
      path(
        [
          { x: 0, y: 0 },
          { x: 0, y: 8 },
        ],
        "TB",
        3,
      ),
    ).toBe("M3 0L3 8");
  });
});
