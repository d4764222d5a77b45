// Return a formula from the MathML of its form (mathml.py), with its numbers and names; "" if there is none.
const CHANGING =
  /\\overset\{\\mathrm\{\w+\}\}\{=\}|\\(?:operatorname|text|mathbf|mathit|begin|end)\{[^{}]*\}|(\\mathrm\{(?:[^{}\\]|\\char\d+ |\\.)*\}|(?<![\d.^_])\d+(?:\.\d+)?)/g;

export function mathmlOf(formulas, tex) {
  const holes = [];
  const form = tex.replace(CHANGING, (all, hole) => (hole ? (holes.push(hole), "#") : all));
  return (formulas[form] ?? "").replace(/<mtext>name(\d+)<\/mtext>/g, (_, place) => filled(holes[place]));
}

function filled(hole) {
  if (hole[0] !== "\\") return `<mn>${hole}</mn>`;
  const name = hole.slice(8, -1).replace(/\\char(\d+) |\\(.)/g, (_, code, sign) => (code ? String.fromCharCode(code) : sign));
  return `<mi mathvariant="normal">${name.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</mi>`;
}
