import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FormFields, parseMultipart } from "../../../src/http/parse-multipart.ts";

const TYPE = "multipart/form-data; boundary=xYzZY";
const parse = (text: string, type = TYPE) => parseMultipart(Buffer.from(text, "latin1"), type);
const part = (name: string, value: string, more = "") =>
  `--xYzZY\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const END = "--xYzZY--\r\n";

/** What another implementation of the same RFC makes of a form. */
async function byFetch(body: Uint8Array, type: string): Promise<FormFields> {
  const form = await new Response(Buffer.from(body), { headers: { "content-type": type } }).formData();
  const fields: FormFields = {};
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name).map((value) => {
      return typeof value === "string" ? value : { filename: value.name, type: value.type, size: value.size };
    });
    fields[name] = values.length === 1 ? values[0]! : values;
  }
  return fields;
}

describe("a form in parts", () => {
  it("is its fields, and of a file its name, type and size", () => {
    const file = part("attachment1", "%PDF-1.4", '; filename="a b.pdf"\r\nContent-Type: application/pdf; x=y');
    expect(parse(part("from", "Ada <ada@example.com>") + file + END)).toEqual({
      from: "Ada <ada@example.com>",
      attachment1: { filename: "a b.pdf", type: "application/pdf", size: 8 },
    });
  });

  it("is what fetch reads that fetch has written", async () => {
    const text = fc.string({ unit: "binary", maxLength: 40 }).map((value) => value.replaceAll(/\r\n|\r|\n/g, "\r\n"));
    const value = fc.oneof(
      text,
      fc.uint8Array({ maxLength: 60 }).map((bytes) => new File([bytes], "file.bin", { type: "application/x-own" })),
    );
    const fields = fc.array(fc.tuple(fc.stringMatching(/^[a-z-]{1,9}$/u), value), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fields, async (pairs) => {
        const form = new FormData();
        for (const [name, each] of pairs) form.append(name, each);
        const written = new Response(form);
        const type = written.headers.get("content-type")!;
        const body = await written.bytes();
        expect(parseMultipart(body, type)).toEqual(await byFetch(body, type));
      }),
      { numRuns: 100 },
    );
  });

  it("is read whatever bytes it has, without an error", () => {
    const pieces = fc.constantFrom(
      "--xYzZY",
      "--",
      "\r\n",
      "\r\n\r\n",
      'Content-Disposition: form-data; name="a"',
      "x",
      "",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (list) => {
        const read = parse(list.join(""));
        expect(["string", "object"]).toContain(typeof read);
      }),
      { numRuns: 500 },
    );
  });

  it("is text in UTF-8, or else one character for each byte", () => {
    expect(parse(part("a", Buffer.from("é").toString("latin1")) + part("b", "é") + END)).toEqual({ a: "é", b: "é" });
  });

  it("has a list where a name is repeated", () => {
    expect(parse(part("a", "1") + part("b", "2") + part("a", "3") + END)).toEqual({ a: ["1", "3"], b: "2" });
  });

  it("drops what could change a prototype", () => {
    expect(Object.keys(parse(part("__proto__", "x") + part("constructor", "y") + END))).toEqual(["constructor"]);
  });

  it("reads an encoded file name", () => {
    expect(parse(part("a", "", "; filename*=UTF-8''%E2%82%AC%20x.txt") + END)).toEqual({
      a: { filename: "€ x.txt", type: "", size: 0 },
    });
    expect(parse(part("a", "", "; filename*=UTF-8''%E2%x") + END)).toMatchObject({ a: { filename: "%E2%x" } });
  });

  it("keeps 1 MiB of a text, and names of 200 characters", () => {
    const read = parse(part("a", "x".repeat(1_100_000)) + END);
    expect((read as FormFields)["a"]).toHaveLength(1_048_576);
    expect(parse(part("a", "x", `; filename="${"n".repeat(300)}"`) + END)).toMatchObject({
      a: { filename: "n".repeat(200) },
    });
  });

  it.each([
    ["no boundary in its type", part("a", "1") + END, "names no boundary", "multipart/form-data"],
    ["another boundary", part("a", "1") + END, "does not begin with", "multipart/form-data; boundary=zz"],
    ["nothing", "", "does not begin with"],
    ["no end", part("a", "1"), "has no end"],
    ["a part without its end", part("a", "1").slice(0, -2), "has no end"],
    ["a part without headers", "--xYzZY\r\nabc", "has no headers"],
    ["headers that are too long", part("a", "1", `; x="${"x".repeat(9_000)}"`) + END, "too long ones"],
    ["a part without Content-Disposition", "--xYzZY\r\nX: y\r\n\r\n1\r\n--xYzZY--", "no Content-Disposition"],
    ["a part without a name", "--xYzZY\r\nContent-Disposition: form-data\r\n\r\n1\r\n--xYzZY--", "no name"],
    ["a name that is too long", part("n".repeat(201), "1") + END, "too long one"],
    ["too many parts", part("a", "").repeat(1_001) + END, "more than 1000 parts"],
    [
      "an end within a field",
      part("text", `Hi\r\n${END}${part("from", "real")}`.slice(0, -2)) + END,
      "continues after",
    ],
  ])("is refused with %s", (_, text, reason, type = TYPE) => {
    expect(parse(text, type)).toContain(reason);
  });

  it("takes as many parts as there may be", () => {
    expect((parse(part("a", "").repeat(1_000) + END) as FormFields)["a"]).toHaveLength(1_000);
  });
});
