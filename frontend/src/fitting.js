// Adjust new contents of Details: fit formulas, and keep the focus.

const fitted = new WeakMap(); // formula -> the width that it was fitted to, so that a step need not measure it again

// Reduce the size of a formula that is slightly too wide, down to 12 px.
export function fitFormulas(root) {
  const boxes = [...root.querySelectorAll(".al-formula")].filter((box) => fitted.get(box) !== box.clientWidth);
  for (const box of boxes) if (box.style.fontSize) box.style.fontSize = "";
  const sizes = new Map(boxes.map((box) => [box, Math.min(1, box.clientWidth / box.scrollWidth) * parseFloat(getComputedStyle(box).fontSize)]));
  // Rules and spaces shrink less than letters, so a further step may be needed. Read all sizes first, then write.
  for (let less = 0, wide = boxes; less < 3; less += 1) {
    wide = wide.filter((box) => box.scrollWidth > box.clientWidth);
    for (const box of wide) box.style.fontSize = `${Math.max(12, Math.floor(sizes.get(box) * 2) / 2 - less)}px`;
  }
  for (const box of boxes) fitted.set(box, box.clientWidth);
}

// Replace the children and keep the focus: on the same element, or the one that now has the same name, or on the
// whole element. Otherwise, a pressed button inside it would lose the position of the Tab key. `make` creates the
// children; whatever it removes from the element loses the focus.
export function renew(element, make) {
  const had = element.getRootNode().activeElement, inside = had && element.contains(had);
  element.replaceChildren(...make().filter(Boolean));
  if (!inside) return;
  const again = [had, ...element.querySelectorAll("button, summary")].find((one) => element.contains(one) && one.textContent === had.textContent);
  (again ?? element).focus({ preventScroll: again !== had });
}
