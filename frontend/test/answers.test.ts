import { describe, expect, it } from "vitest";
import { agree, parse, parseShape } from "../src/answers.js";

describe("answers", () => {
  it.each([
    ["2*3*4", 24],
    ["1/4", 0.25],
    ["2**5", 32],
    ["−4", -4],
    ["[1, 2*3]", [1, 6]],
    ["seven", null],
  ])("reads %s", (text, value) => expect(parse(text)).toEqual(value));

  it("reads shapes", () => {
    expect(parseShape("(2, 3)")).toEqual([2, 3]);
    expect(parseShape("()")).toEqual([]);
  });

  it("agrees within the tolerance only", () => {
    expect(agree(7.01, 7, 0.005)).toBe(true);
    expect(agree(7.1, 7, 0.005)).toBe(false);
  });
});
