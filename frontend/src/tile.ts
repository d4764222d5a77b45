// Tensors as small pictures: a cell for each number, coloured by its sign.
import { svgEl } from "./dom";
import type { Value } from "./types";

const CELL = 8;
const MOST_WIDE = 64;
const MOST_HIGH = 32;
const FEW = 64; // up to this count a trace stores each number

export interface Size {
  width: number;
  height: number;
}

function rowsAndColumns(shape: readonly number[]): [number, number] {
  if (!shape.length) return [1, 1];
  if (shape.length === 1) return [1, shape[0] ?? 1];
  return [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
}

// Return the size of the picture of a tensor of this shape; for a big one, of a frame with roughly its proportions.
export function tileSize(shape: readonly number[]): Size {
  const [rows, columns] = rowsAndColumns(shape).map((size) => Math.max(1, Math.min(size, 200))) as [number, number];
  const cell = Math.min(CELL, MOST_WIDE / columns, MOST_HIGH / rows);
  return { width: Math.max(10, Math.round(columns * cell)), height: Math.max(8, Math.round(rows * cell)) };
}

// Return the numbers of a tensor as rows; null if there are too many to show, or they are not known.
export function cells(value: Value | null): number[][] | null {
  if (!value || value.data === null || value.data === undefined || value.shape.includes(0)) return null;
  const flat = [value.data].flat(Infinity) as unknown[];
  if (flat.length > FEW * 4) return null;
  const [rows, columns] = rowsAndColumns(value.shape);
  if (rows * columns !== flat.length) return null;
  const number = (item: unknown) =>
    typeof item === "string" ? ({ inf: Infinity, "-inf": -Infinity }[item] ?? NaN) : Number(item);
  return Array.from({ length: rows }, (_, r) => flat.slice(r * columns, (r + 1) * columns).map(number));
}

// Return whether a tensor has a picture; if its numbers are too many to store, only its shape is shown.
export function hasTile(value: Value | null): boolean {
  return cells(value) !== null;
}

export function largest(rows: number[][]): number {
  return Math.max(0, ...rows.flat().filter(Number.isFinite).map(Math.abs));
}

// Return how to paint one number: the class of its sign, and the strength.
export function paint(number: number, top: number): { class: string; style: string } {
  if (!Number.isFinite(number)) return { class: "al-broken", style: "" };
  const part = top ? Math.min(1, Math.abs(number) / top) : 0;
  const percent = part ? Math.round(8 + 72 * part) : 0;
  return { class: number < 0 ? "al-cellminus" : "al-cellplus", style: `--part:${percent}%` };
}

export type Frame = "forward" | "backward" | "empty";

// Draw the picture of a value with its corner at (0, 0). `frame`: the direction of flow; "empty": a place for a later
// value.
export function tile(value: Value | null, size: Size, frame: Frame): SVGElement {
  const rows = frame === "empty" ? null : cells(value);
  const outline = svgEl("rect", { ...size, rx: 2, class: `al-tile al-tile-${frame}` });
  if (!rows)
    return svgEl("g", {}, frame === "empty" ? null : svgEl("rect", { ...size, class: "al-tilepaper" }), outline);
  const top = largest(rows);
  const [high, wide] = [size.height / rows.length, size.width / (rows[0]?.length ?? 1)];
  const squares = rows.flatMap((row, r) =>
    row.map((number, c) =>
      svgEl("rect", {
        x: c * wide,
        y: r * high,
        width: wide,
        height: high,
        ...paint(number, top),
      }),
    ),
  );
  return svgEl("g", {}, squares, outline);
}
