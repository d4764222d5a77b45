// What Details do with new contents: formulas fit, and the focus stays.

const fitted = new WeakMap(); // formula -> the width of its place then: pictures stay, and a step need not lay them out again

// A formula that is a little wider than its place is smaller there, down to 12 px.
export function fitFormulas(root) {
  const boxes = [...root.querySelectorAll(".al-formula")].filter((box) => fitted.get(box) !== box.clientWidth);
  for (const box of boxes) if (box.style.fontSize) box.style.fontSize = "";
  const sizes = new Map(boxes.map((box) => [box, Math.min(1, box.clientWidth / box.scrollWidth) * parseFloat(getComputedStyle(box).fontSize)]));
  // Rules and spaces shrink less than letters: then one step more. All are read, then all are written.
  for (let less = 0, wide = boxes; less < 3; less += 1) {
    wide = wide.filter((box) => box.scrollWidth > box.clientWidth);
    for (const box of wide) box.style.fontSize = `${Math.max(12, Math.floor(sizes.get(box) * 2) / 2 - less)}px`;
  }
  for (const box of boxes) fitted.set(box, box.clientWidth);
}

// Other children; the focus stays on what had it, or goes to what is called so now, or to all of the element: a button in it that
// is pressed must not end the way of the Tab key. `make` makes the children: what it takes out of the element loses the focus.
export function renew(element, make) {
  const had = element.getRootNode().activeElement, inside = had && element.contains(had);
  element.replaceChildren(...make().filter(Boolean));
  if (!inside) return;
  const again = [had, ...element.querySelectorAll("button, summary")].find((one) => element.contains(one) && one.textContent === had.textContent);
  (again ?? element).focus({ preventScroll: again !== had });
}
