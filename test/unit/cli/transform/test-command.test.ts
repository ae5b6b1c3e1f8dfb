import { describe, expect, it } from "vitest";
import { TransformTerminal } from "./terminal.ts";

const RENAMED = `export default ({ payload }) => ({ name: "Renamed", message: "It says " + payload.text });`;
const mapping = { id: "deploy", match: { path: "deploy" }, transform: { module: "deploy.js" } };

function terminalWith(module: string, hooks: object = { mappings: [mapping] }): TransformTerminal {
  const terminal = new TransformTerminal();
  terminal.configure(hooks);
  terminal.module("deploy.js", module);
  return terminal;
}

describe("reveille transform test", () => {
  it("prints the input, what was returned, each action, its run, the prompt with its boundary, time and memory", async () => {
    using terminal = terminalWith(RENAMED);
    const payload = terminal.write("payload.json", '{"text":"all is well"}');
    const { code, out, err } = await terminal.run("transform", "test", "deploy.js", "--payload", payload);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^module {6}deploy\.js$/mu);
    expect(out).toMatch(/^mapping {5}deploy \(hooks\.mappings\[0\]\)$/mu);
    expect(out).toMatch(/^input {7}\S+payload\.json, 22 bytes$/mu);
    expect(out).toContain('returned\n  {\n    "name": "Renamed",\n    "message": "It says all is well"\n  }\n');
    expect(out).toMatch(/^action 1 of 1\n {2}kind +agent\n {2}name +Renamed$/mu);
    expect(out).toMatch(/^ {2}agent +main$/mu);
    expect(out).toMatch(/^ {2}session +agent:main:hook:[0-9a-f-]{36}$/mu);
    expect(out).toMatch(/^ {2}reply to +owner on console \(unless the agent's last conversation says otherwise\)$/mu);
    expect(out).toMatch(/^what the agent reads\n {2}\| UNTRUSTED INPUT: /mu);
    expect(out).toMatch(
      /^ {2}\| <<<EXTERNAL_UNTRUSTED_CONTENT id="(?<id>[0-9a-f]{16})">>>\n {2}\| Source: Webhook\n {2}\| Name: Renamed\n {2}\| ---\n {2}\| It says all is well\n {2}\| <<<END_EXTERNAL_UNTRUSTED_CONTENT id="\k<id>">>>$/mu,
    );
    expect(out).toMatch(/^time {8}[\d.,]+ ms for the first call, [\d.,]+ ms once warm$/mu);
    if (process.platform === "linux") expect(out).toMatch(/^memory {6}\d+\.\d MiB in its process$/mu);
  });

  it("says skip for null, and that undefined is the mapping's own action", async () => {
    using terminal = terminalWith("export default ({ payload }) => payload.skip ? null : undefined;", {
      mappings: [{ ...mapping, messageTemplate: "own {{n}}" }],
    });
    const skip = terminal.write("skip.json", '{"skip":true}');
    const skipped = await terminal.run("transform", "test", "deploy.js", "--payload", skip);
    expect(skipped.out).toMatch(/^returned {4}null: skip$/mu);
    expect(skipped.out).toMatch(/^No run: the delivery would be recorded as skipped \(.+\)\.$/mu);
    const kept = terminal.write("kept.json", '{"n":7}');
    const { code, out } = await terminal.run("transform", "test", "deploy.js", "--payload", kept);
    expect([skipped.code, code]).toEqual([0, 0]);
    expect(out).toMatch(/^returned {4}undefined: the mapping's own action$/mu);
    expect(out).toMatch(/^ {2}message +own 7$/mu);
  });

  it("is called with {} when no input is named, for a mapping that is made up when none has the module", async () => {
    using terminal = terminalWith(
      `export default ({ payload }) => [
        { kind: "wake", text: Object.keys(payload).length + " keys" },
        { message: "second", deliver: false, allowUnsafeExternalContent: true },
      ];`,
      {},
    );
    const { code, out } = await terminal.run("transform", "test", "deploy.js");
    expect(code).toBe(0);
    expect(out).toContain("none names the module; a plain agent mapping is used instead");
    expect(out).toContain("input       {}, since none was named, 2 bytes");
    expect(out).toMatch(/^action 1 of 2\n {2}kind +wake\n/mu);
    expect(out).toMatch(/^ {2}text +0 keys$/mu);
    expect(out).toMatch(/^ {2}session +agent:main:main$/mu);
    expect(out).toMatch(/^action 2 of 2\n {2}kind +agent\n/mu);
    expect(out).toMatch(/^ {2}boundary +none \(allowUnsafeExternalContent\)$/mu);
    expect(out).toMatch(/^ {2}reply to +none: deliver is false$/mu);
    expect(out).toContain("  | [hook Hook] second\n");
  });

  it("calls it once for each item of forEach", async () => {
    using terminal = terminalWith('export default ({ payload }) => ({ message: "item " + payload.items[0] });', {
      mappings: [{ ...mapping, forEach: "items" }],
    });
    const payload = terminal.write("items.json", '{"items":["a","b"]}');
    const { out } = await terminal.run("transform", "test", "deploy.js", "--payload", payload);
    expect(out).toContain('returned 1\n  {\n    "message": "item a"\n  }\nreturned 2\n');
    expect(out).toMatch(/^action 2 of 2$/mu);
  });

  it("ends with code 1, and file, line and column, when the module throws; its console is printed", async () => {
    using terminal = terminalWith('export default () => {\n  console.warn("before", 1);\n  return undefined.b;\n};');
    const { code, out } = await terminal.run("transform", "test", "deploy.js");
    expect(code).toBe(1);
    expect(out).toMatch(/^The transform threw TypeError: .+ \(hooks\/transforms\/deploy\.js:3:\d+\)\.$/mu);
    expect(out).toMatch(/^console\n {2}warn {2}before 1$/mu);
    expect(out).not.toContain("once warm");
  });

  it("ends with code 1 when the module cannot be loaded, and says where it is broken", async () => {
    using terminal = terminalWith("export default () => {\n  return [ };\n};");
    const { code, out, err } = await terminal.run("transform", "test", "deploy.js");
    expect([code, err]).toEqual([1, ""]);
    expect(out).toMatch(/^The module cannot be loaded:\n {2}hooks\/transforms\/deploy\.js:2:\d+: /mu);
    const failed = await terminal.json("transform", "test", "deploy.js");
    expect(failed).toMatchObject({ ok: false, module: "deploy.js" });
    expect(failed["error"]).toMatch(/deploy\.js:2:\d+/u);
  });

  it("ends an endless loop after timeoutMs", async () => {
    using terminal = terminalWith("export default () => { for (;;); };", {
      mappings: [mapping],
      transforms: { timeoutMs: 300 },
    });
    const { code, out } = await terminal.run("transform", "test", "deploy.js");
    expect(code).toBe(1);
    expect(out).toContain("The transform took longer than 300 ms.");
  });

  it("says what the gateway would refuse: a blank message, a session key that is not allowed, a body it does not take", async () => {
    using terminal = terminalWith('export default ({ payload }) => ({ message: "m", ...payload });');
    const test = async (payload: string, ...args: readonly string[]): Promise<string> => {
      const file = terminal.write("payload.json", payload);
      const { code, out } = await terminal.run("transform", "test", "deploy.js", "--payload", file, ...args);
      expect(code).toBe(1);
      return out;
    };
    expect(await test('{"message":" "}')).toContain("The gateway would refuse it with 400 INVALID_ACTION: ");
    const keyed = await test('{"sessionKey":"mine"}');
    expect(keyed).toMatch(/^ {2}sessionKey +mine$/mu);
    expect(keyed).toContain("The gateway would refuse it with 400 SESSION_KEY_DISABLED: ");
    expect(await test("{")).toContain("The gateway would refuse it with 400 INVALID_JSON: ");
    expect(await test("a=b", "--content-type", "application/x-www-form-urlencoded")).toContain(
      "The gateway would refuse it with 415 UNSUPPORTED_MEDIA_TYPE: ",
    );
    terminal.configure({ mappings: [{ ...mapping, maxBodyBytes: 10 }] });
    expect(await test('{"a":"long enough"}')).toContain("The gateway would refuse it with 413 BODY_TOO_LARGE: ");
  });

  it("says that the gateway's filter would have kept the call from it, and calls it all the same", async () => {
    using terminal = terminalWith(RENAMED, { mappings: [{ ...mapping, when: 'payload.text == "go"' }] });
    const payload = terminal.write("payload.json", '{"text":"stop"}');
    const { code, out } = await terminal.run("transform", "test", "deploy.js", "--payload", payload);
    expect(code).toBe(0);
    expect(out).toMatch(/^filtered {4}the gateway would not have called it: \S/mu);
    expect(out).toContain("It says stop");
  });

  it("lets nothing of a payload, a result, a console or an error reach the terminal as a control sequence", async () => {
    using terminal = terminalWith(
      'export default ({ payload }) => { console.log(payload.text); if (payload.fail) throw new Error(payload.text); return { name: payload.text, message: payload.text + "\\nnext" }; };',
    );
    const evil = "\u001B]0;owned\u0007\u009B31m\u202Etxt\r\u2028x";
    for (const fail of [false, true]) {
      const payload = terminal.write("payload.json", JSON.stringify({ text: evil, fail }));
      const { out } = await terminal.run("transform", "test", "deploy.js", "--payload", payload);
      // eslint-disable-next-line no-control-regex -- these are what is looked for
      expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E\u2028]/u);
      expect(out).toContain("owned");
      const { out: json } = await terminal.run("transform", "test", "deploy.js", "--payload", payload, "--json");
      expect(json).toMatch(/^[\n\u0020-\u007E]+$/u);
    }
  });

  it("gives machines the prompt exactly as an agent gets it", async () => {
    using terminal = terminalWith(RENAMED);
    const payload = terminal.write("payload.json", '{"text":"tab\\there \\u00fc"}');
    const result = await terminal.json("transform", "test", "deploy.js", "--payload", payload);
    expect(result).toMatchObject({
      ok: true,
      module: "deploy.js",
      export: null,
      mapping: { id: "deploy", where: "hooks.mappings[0]", namesModule: true },
      isolation: "process",
      calls: [{ returned: { name: "Renamed", message: "It says tab\there ü" } }],
      refused: null,
      ended: null,
      filtered: null,
    });
    const [run] = result["runs"] as { prompt: string; agentId: string }[];
    expect(run?.agentId).toBe("main");
    expect(run?.prompt).toContain("\n---\nIt says tab\there ü\n<<<END_EXTERNAL_UNTRUSTED_CONTENT");
  });

  it("says where a reply would go, and what is delivered when no agent is asked", async () => {
    using terminal = terminalWith('export default () => ({ message: "m" });', {
      mappings: [{ ...mapping, mode: "deliver", channel: "console", to: "owner" }],
      transforms: { isolation: "none" },
    });
    const { out } = await terminal.run("transform", "test", "deploy.js");
    expect(out).toMatch(/^ {2}reply to +owner on console\n\nwhat is delivered\n {2}\| m$/mu);
    terminal.configure({ mappings: [mapping], transforms: { isolation: "none" } }, { console: { enabled: false } });
    expect((await terminal.run("transform", "test", "deploy.js")).out).toMatch(
      /^ {2}reply to +none: The gateway has no channel\. \(unless /mu,
    );
  });

  it("gives no warm time when the call fails once it is repeated, and keeps nothing that is written then", async () => {
    using terminal = terminalWith(
      'let calls = 0; export default () => { console.error("call", ++calls); if (calls > 1) throw 1; return { message: "m" }; };',
      { mappings: [mapping], transforms: { isolation: "none" } },
    );
    const { code, out } = await terminal.run("transform", "test", "deploy.js");
    expect(code).toBe(0);
    expect(out).toMatch(/^time {8}[\d.,]+ ms$/mu);
    expect(out).toMatch(/^console\n {2}error call 1\n\n/mu);
  });

  it("tries a module inside of this process when the configuration says isolation none, and keeps its console", async () => {
    using terminal = terminalWith(
      'export default () => { console.log("%s there", "hello"); const own = { message: "m" }; own.own = own; return own; };',
      { mappings: [mapping], transforms: { isolation: "none" } },
    );
    const { code, out } = await terminal.run("transform", "test", "deploy.js");
    expect(code).toBe(0);
    expect(out).toMatch(/^console\n {2}info {2}hello there$/mu);
    expect(out).toContain("[Circular");
    expect(out).toContain("memory      not known: hooks.transforms.isolation is none");
    const result = await terminal.json("transform", "test", "deploy.js");
    expect(result).toMatchObject({ ok: true, isolation: "none", memoryBytes: null });
    expect((result["calls"] as object[])[0]).not.toHaveProperty("returned");
  });
});
