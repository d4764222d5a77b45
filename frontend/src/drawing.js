// What draws a graph where no kernel can; it travels with viz.js (engine.py), not with each explorer.
import { Cards } from "./cards.js";
import { Drawing } from "./draw.js";

export default { Cards, Drawing };
