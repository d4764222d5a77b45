// What Details do with new contents: formulas fit, and the focus stays.

// A formula that is a little wider than its place is smaller there, down to 12 px.
export function fitFormulas(root) {
  const boxes = [...root.querySelectorAll(".al-formula")];
  for (const box of boxes) if (box.style.fontSize) box.style.fontSize = "";
  const sizes = boxes.map((box) => (box.clientWidth ? Math.min(1, box.clientWidth / box.scrollWidth) * parseFloat(getComputedStyle(box).fontSize) : 0));
  boxes.forEach((box, i) => {
    // Rules and spaces shrink less than letters: then one step more.
    for (let less = 0; less < 3 && sizes[i] && box.scrollWidth > box.clientWidth; less += 1)
      box.style.fontSize = `${Math.max(12, Math.floor(sizes[i] * 2) / 2 - less)}px`;
  });
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
