// Parse typed answers (numbers, products, fractions, powers, lists, shapes), and check them.

// Return a number or nested lists of numbers; null for anything else: "2*3*4", "1/2", "-3e-2", "[1, 2**3]", "(2, 3)",
// "2, 3", "2 × 3".
export function parse(text) {
  const source = text.trim().replace(/^tensor\((.*)\)$/s, "$1").replace(/[−–]/g, "-").replace(/[×·]/g, "*").replace(/(?<=\d\s*)x(?=\s*\d)/g, "*");
  const tokens = source.match(/\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|\*\*|[a-z]+|\S/gi) ?? [];
  let at = 0;
  const taken = (...signs) => (signs.includes(tokens[at]) ? tokens[at++] : "");
  const numbers = (...items) => {
    if (items.some((item) => typeof item !== "number")) throw new SyntaxError();
    return items;
  };
  const list = (end) => {
    const items = [];
    while (!(end ? taken(end) : at === tokens.length)) {
      items.push(sum());
      if (!taken(",") && (end ? tokens[at] !== end : at < tokens.length)) throw new SyntaxError();
    }
    return items;
  };
  const atom = () => {
    if (taken("[")) return list("]");
    if (taken("(")) {
      const start = at, items = list(")"), tuple = items.length !== 1 || tokens.slice(start, at - 1).at(-1) === ",";
      return tuple ? items : items[0];
    }
    const word = tokens[at++] ?? "", known = { nan: NaN, inf: Infinity, true: 1, false: 0 }[word.toLowerCase()];
    if (known === undefined && !/^[.\d]/.test(word)) throw new SyntaxError();
    return known ?? Number(word);
  };
  const power = () => {
    const base = atom();
    if (!taken("**", "^")) return base;
    const [a, b] = numbers(base, unary());
    return a ** b;
  };
  const unary = () => {
    const sign = taken("-", "+"), item = sign ? unary() : power();
    return sign === "-" ? -numbers(item)[0] : item;
  };
  const chain = (part, signs) => () => {
    let item = part();
    for (let sign = taken(...signs); sign; sign = taken(...signs)) {
      const [a, b] = numbers(item, part());
      item = sign === "*" ? a * b : sign === "/" ? a / b : sign === "+" ? a + b : a - b;
    }
    return item;
  };
  const product = chain(unary, ["*", "/"]), sum = chain(product, ["+", "-"]);
  try {
    const items = list("");
    return !items.length ? null : items.length > 1 || tokens.at(-1) === "," ? items : items[0];
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

// Return "(2, 3)", "[2, 3]", "2, 3", "2 x 3" or "2" as a list of sizes; null if it is not a shape.
export function parseShape(text) {
  const item = parse(/^\W*\d+(\s*[x×]\s*\d+)+\W*$/.test(text) ? text.replace(/[x×]/g, ",") : text), sizes = typeof item === "number" ? [item] : item;
  return sizes?.every((size) => Number.isInteger(size) && size >= 0) ? sizes : null;
}

export function shapeOf(item) {
  return Array.isArray(item) ? [item.length, ...(item.length ? shapeOf(item[0]) : [])] : [];
}

// Return whether two answers have the same structure and each number is within `tolerance` of the right one.
export function agree(given, right, tolerance) {
  const a = [given].flat(Infinity), b = [right].flat(Infinity).map(number), top = Math.max(...b.map(Math.abs).filter(Number.isFinite), 0);
  if (String(shapeOf(given)) !== String(shapeOf(right)) || a.length !== b.length) return false;
  return a.every((x, i) => Object.is(x, b[i]) || Math.abs(x - b[i]) <= Math.max(tolerance * Math.abs(b[i]), 1e-6 * top));
}

// JSON has no NaN and no infinity.
function number(item) {
  return typeof item === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[item] : Number(item);
}
