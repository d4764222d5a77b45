// Widths of texts, and texts cut to fit. The fonts are those of the style sheet.

export const FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif';

let context: CanvasRenderingContext2D | null | undefined;
const known = new Map<string, number>();

export function textWidth(text: string, size: number, weight = 400): number {
  const key = `${size} ${weight} ${text}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  context ??= typeof document === "undefined" ? null : document.createElement("canvas").getContext("2d");
  if (context) context.font = `${weight} ${size}px ${FONT}`;
  const width = context ? context.measureText(text).width : text.length * size * 0.56;
  if (known.size > 20_000) known.clear();
  known.set(key, width);
  return width;
}

// Return the text, cut with "…" if it is wider than `width`.
export function fitted(text: string, width: number, size: number, weight = 400): string {
  if (textWidth(text, size, weight) <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${text.slice(0, middle)}…`, size, weight) <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

// Return how many lines a text takes, broken between words.
export function lineCount(text: string, width: number, size: number, weight = 400): number {
  const space = textWidth(" ", size, weight);
  let lines = text ? 1 : 0;
  let used = -space;
  for (const word of text.split(" ")) {
    const wide = textWidth(word, size, weight);
    if (used >= 0 && used + space + wide > width) {
      lines += 1;
      used = -space;
    }
    used += space + wide;
  }
  return lines;
}

// Use a minus sign as wide as a plus: "-2" becomes "−2" in a picture.
export function signed(text: string): string {
  return text.replace(/(?<![\w.])-(?=[\d.])/g, "−");
}

// Return "4 × 2" for [4, 2]; "" for a single number.
export function sizes(shape: readonly number[] | null): string {
  return shape ? shape.join(" × ") : "";
}
