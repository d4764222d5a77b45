// What Python writes before a bundle; the tests look at no colours and no words.
Object.assign(globalThis, {
  PALETTE: { paper: "#ffffff", minus: "#000000", plus: "#000000" },
  PATTERNS: {},
  STATES: {},
});
