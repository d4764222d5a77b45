// What a person with a screen reader, or with tired eyes, would find wrong. Each function takes the explorer's element
// and returns a list of complaints, or what was measured.

function elements(root) {
  return [root, ...root.querySelectorAll("*")];
}

function shown(element) {
  const style = getComputedStyle(element),
    box = element.getBoundingClientRect();
  return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1;
}

function nameOf(element) {
  return (element.getAttribute("aria-label") || element.textContent || "").trim();
}

function where(element) {
  return `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""} "${element.textContent.trim().slice(0, 30)}"`;
}

function unnamed(root) {
  const wants = elements(root).filter((e) => e.matches("button, input, select, a, table, [role], [tabindex]"));
  return wants.filter((e) => !nameOf(e) && e.getAttribute("role") !== "status").map(where);
}

function unreachable(root) {
  return elements(root)
    .filter((e) => e.matches('[role="button"], button, input') && e.tabIndex < 0)
    .filter((e) => !e.closest("svg")?.querySelector('[tabindex="0"]')) // there arrows go from one to the other
    .map(where);
}

function parse(color) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = "#000000";
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const parts = color.match(/[\d.]+/g);
  const alpha = color.startsWith("rgba") && parts.length === 4 ? Number(parts[3]) : 1;
  const solid = color.startsWith("rgba")
    ? parts.slice(0, 3).map(Number)
    : [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  return { solid, alpha };
}

function over(color, background) {
  const { solid, alpha } = parse(color);
  return solid.map((v, i) => v * alpha + background[i] * (1 - alpha));
}

function light(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a, b) {
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Every colour an HTML element may be seen against: its own background or the next one up; all stops of a gradient.
function backgrounds(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement ?? e.getRootNode().host) {
    const style = getComputedStyle(e);
    const stops = style.backgroundImage.match(/rgba?\([^)]*\)/g);
    if (stops) return stops.map((stop) => over(stop, [255, 255, 255]));
    if (parse(style.backgroundColor).alpha > 0 && style.backgroundColor !== "rgba(0, 0, 0, 0)") {
      layers.push(style.backgroundColor);
      if (parse(style.backgroundColor).alpha === 1) break;
    }
  }
  return [layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255])];
}

// What is painted under the middle of an SVG text: the last filled shape before it that covers the point.
function painted(text, root) {
  const style = getComputedStyle(text);
  if (style.paintOrder.startsWith("stroke") && style.stroke !== "none") return [over(style.stroke, [255, 255, 255])];
  const box = text.getBoundingClientRect(),
    x = box.left + box.width / 2,
    y = box.top + box.height / 2;
  const shapes = [...text.ownerSVGElement.querySelectorAll("rect, path, polygon")].filter((shape) => {
    const b = shape.getBoundingClientRect(),
      s = getComputedStyle(shape);
    return (
      s.fill !== "none" &&
      s.visibility !== "hidden" &&
      s.display !== "none" &&
      b.left <= x &&
      x <= b.right &&
      b.top <= y &&
      y <= b.bottom &&
      text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_PRECEDING &&
      !shape.closest("defs") &&
      shape.matches(":not(.al-line)")
    );
  });
  const top = shapes.at(-1);
  if (!top) return backgrounds(text.ownerSVGElement);
  const { fill } = getComputedStyle(top);
  const pattern = fill.match(/^url\("(#.+)"\)/);
  const paints = pattern ? [...root.querySelector(pattern[1]).children].map((e) => getComputedStyle(e).fill) : [fill];
  return paints.map((paint) => over(paint, [255, 255, 255]));
}

function texts(root) {
  return elements(root).filter(
    (e) =>
      [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim()) && !e.matches("style") && shown(e),
  );
}

// Text that contrasts less than 4.5:1 with what is behind it.
function faint(root) {
  return texts(root)
    .filter((e) => !e.closest(".al-hidden"))
    .flatMap((e) => {
      const style = getComputedStyle(e),
        svg = e instanceof SVGElement;
      const behind = svg ? painted(e, root) : backgrounds(e);
      const worst = Math.min(...behind.map((b) => ratio(over(svg ? style.fill : style.color, b), b)));
      return worst < 4.5 ? [`${worst.toFixed(2)} ${where(e)}`] : [];
    });
}

// Text smaller than 11 px on the screen.
function small(root) {
  return texts(root)
    .filter(
      (e) => !e.closest("sub, sup, msub, msup, msubsup, mfrac, munder, mover, munderover") && !e.closest(".al-hidden"),
    )
    .flatMap((e) => {
      const scale = e instanceof SVGElement ? e.getScreenCTM().a : 1,
        size = parseFloat(getComputedStyle(e).fontSize) * scale;
      return size < 10.99 ? [`${size.toFixed(1)} ${where(e)}`] : [];
    });
}

// Text that runs out of its card, or over another text of the same card; cards that lie on each other.
function crowded(root) {
  const found = [],
    cards = [...root.querySelectorAll('svg [role="button"]')];
  const apart = (a, b) =>
    a.right <= b.left + 0.5 || b.right <= a.left + 0.5 || a.bottom <= b.top + 2.5 || b.bottom <= a.top + 2.5;
  for (const card of cards) {
    const box = card.querySelector(".al-card").getBoundingClientRect(),
      inside = texts(card).map((e) => [e, e.getBoundingClientRect()]);
    for (const [e, b] of inside)
      if (b.left < box.left - 0.5 || b.right > box.right + 0.5) found.push(`outside: ${where(e)}`);
    inside.forEach(([e, b], i) =>
      inside
        .slice(i + 1)
        .forEach(([other, c]) => apart(b, c) || found.push(`over each other: ${where(e)} and ${where(other)}`)),
    );
  }
  const boxes = [...root.querySelectorAll(".al-card")].map((e) => e.getBoundingClientRect());
  boxes.forEach((a, i) =>
    boxes
      .slice(i + 1)
      .forEach((b) => apart(a, b) || found.push(`cards overlap at ${Math.round(a.left)}, ${Math.round(a.top)}`)),
  );
  return found;
}

// Animations that run, and tokens that travel.
function moving(root) {
  return (
    root.getAnimations({ subtree: true }).filter((a) => a instanceof CSSAnimation).length +
    root.querySelectorAll(".al-token").length
  );
}

// Word in the gradient strip of every node that has one, by node id.
function gradientWords(root) {
  return Object.fromEntries(
    [...root.querySelectorAll('svg [role="button"]')]
      .filter((g) => g.querySelector(".al-word"))
      .map((g) => [g.dataset.id, g.querySelector(".al-word").textContent]),
  );
}
