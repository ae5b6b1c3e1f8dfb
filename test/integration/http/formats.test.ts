import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import type { WireAnswer } from "./http-connection.ts";
import { AUTHORIZED, RunningGateway } from "./running-gateway.ts";

const ECHO = { messageTemplate: "[{{text}}|{{a}}|{{b}}|{{[0].a}}|{{[1]}}]", deliver: false };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: {
      mappings: [
        { match: { path: "json" }, ...ECHO },
        { match: { path: "form" }, accept: ["form"], ...ECHO },
        { match: { path: "parts" }, accept: ["multipart"], messageTemplate: "[{{a}}|{{b}}]", deliver: false },
        { match: { path: "text" }, accept: ["text"], ...ECHO },
        { match: { path: "all" }, accept: ["json", "form", "text"], ...ECHO },
        { match: { path: "shared", source: "form" }, accept: ["form"], ...ECHO },
        { match: { path: "shared" }, ...ECHO },
        {
          match: { path: "proto" },
          messageTemplate:
            "[{{__proto__.polluted}}{{constructor.prototype.polluted}}{{a.__proto__.polluted}}{{polluted}}" +
            "{{toString}}{{hasOwnProperty}}{{a.constructor}}{{payload.__proto__}}{{headers.__proto__}}{{query.constructor}}]",
          deliver: false,
        },
        { match: { path: "ids" }, messageTemplate: "order {{order.id}} of {{shop}}", deliver: false },
        { match: { path: "merge" }, transform: { module: "merge.mjs" }, deliver: false },
      ],
    },
    transforms: {
      "merge.mjs": `
        function merge(into, from) {
          for (const key in from) {
            if (typeof from[key] === "object" && from[key] !== null) {
              into[key] ??= {};
              merge(into[key], from[key]);
            } else into[key] = from[key];
          }
          return into;
        }
        export default ({ payload }) => ({ message: JSON.stringify(merge({}, payload)) });`,
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

function post(path: string, body: string | Buffer, ...types: string[]): Promise<WireAnswer> {
  const headers = [AUTHORIZED, ...types.map((type) => `Content-Type: ${type}`)];
  return gateway.send({ target: `/hooks/${path}`, headers, body });
}

/** The message that an accepted call was turned into. */
async function messageOf(answer: WireAnswer): Promise<string> {
  expect(answer.status).toBe(202);
  const { runs } = await gateway.delivery((JSON.parse(answer.text) as { deliveryId: string }).deliveryId);
  return (runs[0]!.spec as AgentSpec).message;
}

function codeOf(answer: WireAnswer): unknown {
  return (JSON.parse(answer.text) as { code: string }).code;
}

describe("JSON", () => {
  it.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON;charset=UTF-8",
    "application/vnd.github+json",
    "text/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "application/octet-stream",
    "text/xml",
    "multipart/form-data; boundary=x",
    "nonsense",
    "",
  ])("is read under the content type %j", async (type) => {
    expect(await messageOf(await post("json", '{"a":1}', type))).toBe("[|1|||]");
  });

  it("is read without a content type, and where a mapping takes other formats", async () => {
    expect(await messageOf(await post("json", '{"a":1}'))).toBe("[|1|||]");
    for (const path of ["form", "text", "all"]) {
      expect(await messageOf(await post(path, '{"a":1}', "text/plain"))).toBe("[|1|||]");
    }
  });

  it.each(["{", '{"a":}', "a=1", "<a/>", "{'a':1}", '{"a":1}}', "nul", "[1,]", '{"a":1} x', "\u0000"])(
    "spec 7: is 400 under a JSON type or none when it is not valid: %j",
    async (body) => {
      for (const types of [["application/json"], ["application/cloudevents+json"], []]) {
        const answer = await post("json", body, ...types);
        expect(answer.status).toBe(400);
        expect(codeOf(answer)).toBe("INVALID_JSON");
      }
    },
  );

  it.each([
    ["text/xml", "text/xml"],
    ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded"],
    ["Text/Plain; charset=utf-8", "text/plain"],
    ["application/octet-stream", "application/octet-stream"],
  ])("is what was expected when something else is sent as %s: 415 that names the type", async (type, name) => {
    const answer = await post("json", "a=1", type);
    expect(answer.status).toBe(415);
    expect(codeOf(answer)).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(answer.text).toContain(JSON.stringify(name).slice(1, -1));
  });

  it("is 415 in a charset other than UTF-8, and names it", async () => {
    const answer = await post("json", '{"a":1}', "application/json; charset=utf-16");
    expect(answer.status).toBe(415);
    expect(answer.text).toContain("utf-16");
  });

  it("is 415 under a content type that is none, and nothing of it is in the answer", async () => {
    const answer = await post("json", "a=1", "<script>/x y");
    expect(answer.status).toBe(415);
    expect(answer.text).not.toContain("script");
  });
});

describe("what a mapping takes besides JSON", () => {
  it("is a form, as an object of strings of which the last of a name wins", async () => {
    const form = "a=1&a=2&b=x+y%20%C3%BC";
    expect(await messageOf(await post("form", form, "application/x-www-form-urlencoded"))).toBe("[|2|x y ü||]");
    expect(await messageOf(await post("all", form, "application/x-www-form-urlencoded"))).toBe("[|2|x y ü||]");
  });

  it("is text, as { text }", async () => {
    expect(await messageOf(await post("text", "disk 91 % full", "text/plain"))).toBe("[disk 91 % full||||]");
    expect(await messageOf(await post("text", "42", "text/plain"))).toBe("[42||||]");
    expect(await messageOf(await post("text", "<a/>", "text/xml"))).toBe("[<a/>||||]");
  });

  it("is a form in parts, of whose files only name, type and size are left", async () => {
    const part = (name: string, rest: string) => `--x\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n`;
    const file = part("b", '; filename="b.txt"\r\nContent-Type: text/plain\r\n\r\nhello');
    const form = `${part("a", "\r\n\r\nx ü")}${file}--x--`;
    expect(await messageOf(await post("parts", form, "multipart/form-data; boundary=x"))).toBe(
      '[x ü|{"filename":"b.txt","type":"text/plain","size":5}]',
    );
    expect((await post("form", form, "multipart/form-data; boundary=x")).status).toBe(415);
    const broken = await post("parts", form.slice(0, -2), "multipart/form-data; boundary=x");
    expect([broken.status, codeOf(broken)]).toEqual([400, "INVALID_PAYLOAD"]);
  });

  it("is nothing that it does not list", async () => {
    expect((await post("form", "x", "text/plain")).status).toBe(415);
    expect((await post("text", "a=1", "application/x-www-form-urlencoded")).status).toBe(415);
    expect((await post("text", "x", "application/xml")).status).toBe(415);
    expect((await post("text", "{", "application/json")).status).toBe(400);
  });

  it("is judged by the mapping that owns the request", async () => {
    expect((await post("shared", "source=form&a=1", "application/x-www-form-urlencoded")).status).toBe(202);
    const refused = await post("shared", "source=other&a=1", "application/x-www-form-urlencoded");
    expect(refused.status).toBe(415);
    expect(refused.text).toContain("application/x-www-form-urlencoded");
  });

  it("is never taken by /wake and /agent", async () => {
    expect((await post("wake", "text=x", "application/x-www-form-urlencoded")).status).toBe(415);
    expect((await post("agent", "hello", "text/plain")).status).toBe(415);
  });
});

describe("an unusual JSON body", () => {
  it("that is not UTF-8 is 400", async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      const answer = await post("json", body, "application/json");
      expect(answer.status).toBe(400);
      expect(codeOf(answer)).toBe("INVALID_UTF8");
    }
  });

  it("may begin with a byte order mark", async () => {
    expect(await messageOf(await post("json", '\u{feff}{"a":1}', "application/json"))).toBe("[|1|||]");
    expect(codeOf(await post("json", '\u{feff}\u{feff}{"a":', "application/json"))).toBe("INVALID_JSON");
  });

  it("that is UTF-16 is 400", async () => {
    const answer = await post("json", Buffer.from('\u{feff}{"a":1}', "utf16le"), "application/json");
    expect(answer.status).toBe(400);
  });

  it("that is empty or blank is {}", async () => {
    for (const body of ["", "  \r\n", "\u{feff}"]) expect(await messageOf(await post("json", body))).toBe("[||||]");
    expect(await messageOf(await gateway.send({ target: "/hooks/json", headers: [AUTHORIZED] }))).toBe("[||||]");
    const wake = await post("wake", "");
    expect(wake.status).toBe(400);
    expect(JSON.parse(wake.text)).toMatchObject({ code: "INVALID_PAYLOAD", error: expect.stringContaining("text") });
  });

  it("that is an array stays one for a mapping, and is 400 for /wake and /agent", async () => {
    expect(await messageOf(await post("json", '[{"a":"first"},2]'))).toBe("[|||first|2]");
    expect((await post("wake", '[{"text":"x"}]')).status).toBe(400);
    expect((await post("agent", '[{"message":"x"}]')).status).toBe(400);
  });

  it.each(["42", "true", "null", '"text"', "1e999", "-0"])("that is the scalar %s is {}", async (body) => {
    expect(await messageOf(await post("json", body))).toBe("[||||]");
    expect((await post("wake", body)).status).toBe(400);
  });

  it("with a key twice means the last", async () => {
    expect(await messageOf(await post("json", '{"a":1,"b":3,"a":2}'))).toBe("[|2|3||]");
  });

  it("with 100,000 nested brackets is 400, whether they are closed or not", async () => {
    const many = 100_000;
    for (const body of [
      "[".repeat(many) + "]".repeat(many),
      "[".repeat(many),
      `{"a":${"[".repeat(many)}${"]".repeat(many)}}`,
      '{"a":'.repeat(40_000),
      "]".repeat(many),
    ]) {
      const answer = await post("json", body, "application/json");
      expect(answer.status).toBe(400);
      expect(codeOf(answer)).toBe(body.startsWith("]") ? "INVALID_JSON" : "TOO_DEEP");
    }
  });

  it("may hold 100,000 brackets that do not nest, and nest to the depth that is configured", async () => {
    expect((await post("json", `[${"[],".repeat(50_000)}[]]`)).status).toBe(202);
    expect((await post("json", JSON.stringify({ a: "[".repeat(100_000) }))).status).toBe(202);
    expect((await post("json", "[".repeat(64) + "]".repeat(64))).status).toBe(202);
    expect((await post("json", "[".repeat(65) + "]".repeat(65))).status).toBe(400);
  });
});

describe("keys that name a prototype", () => {
  const HOSTILE =
    '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},' +
    '"a":{"__proto__":{"polluted":"yes"},"\\u005f_proto__":{"polluted":"yes"}}}';

  it("reach no template", async () => {
    expect(await messageOf(await post("proto", HOSTILE))).toBe("[]");
    expect(await messageOf(await post("proto", "{}"))).toBe("[]");
  });

  it("pollute nothing, not even through a transform that copies carelessly", async () => {
    const message = await messageOf(await post("merge", HOSTILE));
    expect(message).not.toContain("yes");
    const bare: Record<string, unknown> = {};
    expect(bare["polluted"]).toBeUndefined();
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it("are no fields of a payload", async () => {
    expect((await post("wake", '{"__proto__":{"text":"x"}}')).status).toBe(400);
    expect((await post("agent", '{"__proto__":{"message":"x"}}')).status).toBe(400);
  });

  it("are no fields of a form", async () => {
    const answer = await post("form", "__proto__=1&constructor=2&a=3", "application/x-www-form-urlencoded");
    expect(await messageOf(answer)).toBe("[|3|||]");
  });
});

describe("an id beyond 2^53", () => {
  it("reaches the agent with all of its digits", async () => {
    const { text } = await post(
      "ids",
      '{"order":{"id":820982911946154508},"shop":1234567890123456}',
      "application/json",
    );
    const { deliveryId } = JSON.parse(text) as { readonly deliveryId: string };
    const spec = (await gateway.delivery(deliveryId)).runs[0]!.spec as AgentSpec;
    expect(spec.message).toBe("order 820982911946154508 of 1234567890123456");
  });
});
