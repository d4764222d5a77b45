// The exports of `dom.js`, for typed modules.
type Kid = Node | string | number | null | undefined | Kid[];
export function h(tag: string, props?: Record<string, unknown>, ...kids: Kid[]): HTMLElement;
export function svgEl(tag: string, props?: Record<string, unknown>, ...kids: Kid[]): SVGElement;
export function prose(text: string): Kid[];
export function clamp(value: number, low: number, high: number): number;
export function reducedMotion(): boolean;
