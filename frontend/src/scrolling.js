// Keep scrolling the notebook when a scrollable pane moves under a pointer at rest. The pane scrolls by wheel only
// after the pointer has moved in it, or while it has the keyboard focus.
export function passWheel(pane) {
  let meant = false;
  pane.addEventListener("pointermove", (event) => (meant ||= Boolean(event.movementX || event.movementY)));
  pane.addEventListener("pointerleave", () => (meant = false));
  pane.addEventListener(
    "wheel",
    (event) => {
      if (meant || event.ctrlKey || pane.contains(pane.getRootNode().activeElement)) return;
      const page = scroller(pane);
      if (!page || !event.deltaY) return;
      event.preventDefault();
      page.scrollBy(0, event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * LINE : event.deltaY);
    },
    { passive: false },
  );
}

const LINE = 16; // px

// Return the scrolling element around an element: the notebook's panel, or the page. Widgets may be inside a shadow
// root.
function scroller(element) {
  for (let at = above(element); at && at !== document.documentElement; at = above(at)) {
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.scrollingElement;
}

function above(element) {
  return element.parentElement ?? element.getRootNode().host;
}
