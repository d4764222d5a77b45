import globals from "globals";
import typescript from "typescript-eslint";

const constants = { STYLE: "readonly", PALETTE: "readonly", PATTERNS: "readonly", STATES: "readonly" };

export default typescript.config(
  { files: ["src/**/*.ts", "test/**/*.ts"], extends: [...typescript.configs.strict] },
  {
    files: ["src/**/*.js"],
    languageOptions: { globals: { ...globals.browser, ...constants } },
    rules: { "no-undef": "error", "no-unused-vars": ["error", { args: "none" }] },
  },
);
