// The outputs of a program, one element for each, in order.
import type { Output } from "./messages";

/** Return the function that adds an output to an element, and the widgets' pages that were added. */
export function outputs(place: HTMLElement): { add(output: Output): void; clear(): void; pages(): string[] } {
  let pages: string[] = [];
  let last: { element: HTMLElement; stream: string } | null = null;
  const clear = (): void => {
    place.replaceChildren();
    [pages, last] = [[], null];
  };
  const add = (output: Output): void => {
    if (output.kind === "text") {
      if (last?.stream !== output.stream) {
        const element = place.appendChild(document.createElement("pre"));
        element.className = output.stream;
        last = { element, stream: output.stream };
      }
      last.element.append(output.text);
      return;
    }
    last = null;
    if (output.kind === "error") {
      const element = place.appendChild(document.createElement("pre"));
      element.className = "error";
      element.append(output.text);
    } else if (output.kind === "page") {
      pages.push(output.html);
      place.append(framed(output.title, output.html));
    } else {
      const picture = place.appendChild(document.createElement("img"));
      picture.src = URL.createObjectURL(new Blob([output.svg], { type: "image/svg+xml" }));
      picture.alt = "A picture that your program drew";
    }
  };
  return { add, clear, pages: () => pages };
}

/** Return a widget's page in a frame that is as high as the page. */
function framed(title: string, html: string): HTMLIFrameElement {
  const frame = document.createElement("iframe");
  frame.title = title;
  frame.srcdoc = html.replace(/<h1>.*?<\/h1>/, "");
  frame.addEventListener("load", () => {
    const page = frame.contentDocument;
    if (!page) return;
    const fit = (): void => void (frame.style.height = `${page.documentElement.offsetHeight + 8}px`);
    new ResizeObserver(fit).observe(page.documentElement);
    fit();
  });
  return frame;
}
