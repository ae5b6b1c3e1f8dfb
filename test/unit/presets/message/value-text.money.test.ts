import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decimalAmount, minorAmount } from "../../../../src/presets/message/value-text.ts";

describe("minorAmount", () => {
  it.each([
    [4900, "eur", "49.00 EUR"],
    [5, "USD", "0.05 USD"],
    [0, "usd", "0.00 USD"],
    [-1250, "gbp", "-12.50 GBP"],
    [12_500, "jpy", "12500 JPY"],
    [0, "KRW", "0 KRW"],
    [12_345, "KWD", "12.345 KWD"],
    [12_345, "CLF", "1.2345 CLF"],
    ["4900", "EUR", "49.00 EUR"],
    ["0004900", "EUR", "49.00 EUR"],
    ["-7", "EUR", "-0.07 EUR"],
  ])("writes %j of %s as %s", (amount, currency, text) => {
    expect(minorAmount(amount, currency)).toBe(text);
  });

  it("counts two digits where everyday prices have none but amounts do", () => {
    expect(["HUF", "IDR", "COP", "PKR", "ALL"].map((code) => minorAmount(100_000, code))).toEqual([
      "1000.00 HUF",
      "1000.00 IDR",
      "1000.00 COP",
      "1000.00 PKR",
      "1000.00 ALL",
    ]);
  });

  it("takes a currency that it does not know for one of hundredths", () => {
    expect(minorAmount(4900, "XYZ")).toBe("49.00 XYZ");
  });

  it("follows a sender that counts otherwise", () => {
    expect(minorAmount(4900, "isk", { ISK: 2 })).toBe("49.00 ISK");
  });

  it.each([
    [undefined, "eur"],
    [null, "eur"],
    [49.5, "eur"],
    [Number.NaN, "eur"],
    [2 ** 53, "eur"],
    ["", "eur"],
    ["49.00", "eur"],
    ["9".repeat(31), "eur"],
    [{}, "eur"],
    [4900, undefined],
    [4900, ""],
    [4900, "EURO"],
    [4900, "€"],
    [4900, ["eur"]],
  ])("says nothing of %j in %j", (amount, currency) => {
    expect(minorAmount(amount, currency)).toBe("");
  });

  it("never loses a unit of any amount", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom("EUR", "JPY", "KWD"), (amount, currency) => {
        const [figures] = minorAmount(amount, currency).split(" ");
        expect(Number(figures!.replace(".", ""))).toBe(amount + 0);
      }),
    );
  });
});

describe("decimalAmount", () => {
  it.each([
    ["49.00", "eur", "49.00 EUR"],
    ["-3.5", "USD", "-3.5 USD"],
    [50, "USD", "50 USD"],
    ["64.95", "", "64.95"],
    ["49.00", "EURO", "49.00"],
  ])("writes %j in %s as %s", (amount, currency, text) => {
    expect(decimalAmount(amount, currency)).toBe(text);
  });

  it.each([[undefined], [null], ["free"], [""], [Number.POSITIVE_INFINITY], [["1"]], ["1".repeat(40)]])(
    "says nothing of %j",
    (amount) => {
      expect(decimalAmount(amount, "EUR")).toBe("");
    },
  );
});
