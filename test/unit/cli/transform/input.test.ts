import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TransformTerminal } from "./terminal.ts";

/** Tells what it was given. */
const TOLD = `export default ({ payload, event, sender, deliveryId, headers, path, time, method, query, rawBody }) => ({
  message: JSON.stringify({ payload, event, sender, deliveryId, headers, path, time, method, query, bytes: rawBody.length }),
});
export const other = () => ({ message: "the other one" });`;

/** In this process: what is tried here is what goes in. */
const inProcess = { transforms: { isolation: "none" } };

function terminalWith(hooks: object = {}): TransformTerminal {
  const terminal = new TransformTerminal();
  terminal.configure({ ...inProcess, ...hooks });
  terminal.module("told.js", TOLD);
  return terminal;
}

async function told(
  terminal: TransformTerminal,
  ...args: readonly string[]
): Promise<Readonly<Record<string, unknown>>> {
  const result = await terminal.json("transform", "test", "told.js", ...args);
  const [call] = result["calls"] as [{ returned: { message: string } }];
  return { ...result, told: JSON.parse(call.returned.message) as unknown };
}

async function refused(terminal: TransformTerminal, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await terminal.run("transform", "test", ...args);
  expect([code, out]).toEqual([1, ""]);
  return err.trimEnd();
}

describe("the input of reveille transform test", () => {
  it("is a sample of a preset, with the event, the sender and the delivery id that the preset reads", async () => {
    using terminal = terminalWith();
    const result = await told(terminal, "--preset", "github", "--sample", "pull_request");
    expect(result).toMatchObject({
      mapping: null,
      event: "pull_request.opened",
      input: { source: "the sample pull_request of github" },
    });
    expect(result["told"]).toMatchObject({
      event: result["event"],
      sender: { name: result["sender"] },
      deliveryId: result["deliveryId"],
      path: "github",
      method: "POST",
      headers: { "x-github-event": "pull_request", "content-type": "application/json" },
    });
    expect(await told(terminal, "--preset", "github")).toMatchObject({
      input: { source: "the sample push of github" },
    });
    const form = await told(terminal, "--preset", "twilio");
    expect(form["told"]).toMatchObject({ headers: { "content-type": "application/x-www-form-urlencoded" } });
  });

  it("can be a sample of every preset, as a mapping would read it", async () => {
    using terminal = terminalWith();
    const presets = JSON.parse((await terminal.run("presets", "--json")).out) as { name: string }[];
    expect(presets.length).toBeGreaterThan(40);
    for (const { name } of presets) {
      const { ok, mapping } = await told(terminal, "--preset", name);
      expect({ name, ok, mapping }).toEqual({ name, ok: true, mapping: null });
    }
  });

  it("is a file with a content type, which a made-up mapping takes whatever it is", async () => {
    using terminal = terminalWith();
    const file = terminal.write("body", "a=1&b=2");
    const form = await told(terminal, "--payload", file, "--content-type", "application/x-www-form-urlencoded");
    expect(form["told"]).toMatchObject({ payload: { a: "1", b: "2" }, bytes: 7, path: "transform-test" });
    const text = await told(terminal, "--payload", file, "--content-type", "text/plain");
    expect(text["told"]).toMatchObject({ payload: { text: "a=1&b=2" } });
  });

  it("is what comes from standard input, read once, whether --payload names it or not", async () => {
    using terminal = terminalWith();
    terminal.process.piped = Buffer.from('{"piped":1}');
    for (const args of [["--payload", "-"], []]) {
      const result = await told(terminal, ...args);
      expect(result).toMatchObject({ input: { source: "standard input", bytes: 11 }, told: { payload: { piped: 1 } } });
    }
  });

  it("is what a delivery of the running gateway holds, for the mapping that took it", async () => {
    const hooks = {
      ...inProcess,
      mappings: ["one", "two"].map((id) => ({
        id,
        match: { path: id },
        transform: { module: "told.js" },
        deliver: false,
        wakeMode: "next-heartbeat",
      })),
    };
    using terminal = terminalWith(hooks);
    const { url, code } = await terminal.process.serve();
    const answer = await fetch(`${url}/hooks/two?page=3`, {
      method: "POST",
      headers: { Authorization: "Bearer hook-token-of-these-tests-here", "X-Kind": "stored" },
      body: '{"stored":"bytes"}',
    });
    const { deliveryId } = (await answer.json()) as { deliveryId: string };
    const result = await told(terminal, "--delivery", deliveryId, "--url", url);
    expect(result).toMatchObject({
      mapping: { id: "two" },
      input: { source: `the delivery ${deliveryId}`, bytes: 18 },
    });
    expect(result["told"]).toMatchObject({
      payload: { stored: "bytes" },
      path: "two",
      query: { page: "3" },
      headers: { "x-kind": "stored" },
    });
    expect(JSON.stringify(result)).not.toContain("hook-token");
    expect(await refused(terminal, "told.js", "--delivery", "dlv_unknown", "--url", url)).toContain("404");
    terminal.process.signals.emit("SIGTERM");
    expect(await code).toBe(0);
    expect(await refused(terminal, "told.js", "--delivery", deliveryId, "--url", url)).toContain("Is it running?");
  });

  it("is one alone, and of a sample the preset is named", async () => {
    using terminal = terminalWith();
    expect(await refused(terminal, "told.js", "--payload", "a", "--preset", "github")).toBe(
      "Name one input: --payload, --preset or --delivery.",
    );
    expect(await refused(terminal, "told.js", "--sample", "push")).toContain("--sample is one of a --preset");
    expect(await refused(terminal, "told.js", "--content-type", "text/plain")).toContain("--payload");
    expect(await refused(terminal, "told.js", "--preset", "githb")).toContain('There is no preset "githb"');
    expect(await refused(terminal, "told.js", "--preset", "github", "--sample", "psh")).toMatch(
      /no sample "psh"\. It has: push/u,
    );
    expect(await refused(terminal, "told.js", "--payload", "none.json")).toContain("ENOENT");
  });
});

describe("the mapping and the module of reveille transform test", () => {
  const named = {
    id: "named",
    match: { path: "n" },
    name: "Named",
    transform: { module: "./told.js", export: "other" },
  };

  it("is the only mapping with the module, however that is written, with the export that it names", async () => {
    using terminal = terminalWith({ mappings: [named, { match: { path: "o" }, messageTemplate: "m" }] });
    const { out } = await terminal.run("transform", "test", "told.js");
    expect(out).toMatch(/^module {6}told\.js, export other\nmapping {5}named \(hooks\.mappings\[0\]\)$/mu);
    expect(out).toContain("the other one");
    const result = await told(terminal, "--export", "default");
    expect(result).toMatchObject({ export: "default", told: { path: "n" } });
  });

  it("is asked for when several have it", async () => {
    using terminal = terminalWith({ mappings: [named, { ...named, id: "second", match: { path: "s" } }] });
    expect(await refused(terminal, "told.js")).toBe(
      "Several mappings have told.js; choose one with --mapping: named, second.",
    );
    const { out } = await terminal.run("transform", "test", "told.js", "--mapping", "second");
    expect(out).toMatch(/^mapping {5}second /mu);
    expect(await refused(terminal, "told.js", "--mapping", "third")).toBe(
      'There is no mapping "third". There are: named, second.',
    );
    terminal.configure(inProcess);
    expect(await refused(terminal, "told.js", "--mapping", "third")).toBe(
      'There is no mapping "third". There is none.',
    );
  });

  it("can be a mapping that does not have the module, which is said", async () => {
    using terminal = terminalWith({ mappings: [{ id: "plain", match: { path: "p" }, messageTemplate: "m" }] });
    const { out } = await terminal.run("transform", "test", "told.js", "--mapping", "plain");
    expect(out).toContain("plain (hooks.mappings[0]), which does not name the module; it is tried as if it did");
  });

  it("is that of a preset's block too, and of no other mapping's broken module", async () => {
    const broken = { id: "broken", match: { path: "b" }, transform: { module: "broken.js" } };
    using terminal = terminalWith({
      presets: ["github"],
      github: { secret: "secret-of-the-transform-tests", transform: { module: "told.js" } },
      mappings: [broken],
    });
    terminal.module("broken.js", "export default (");
    const result = await told(terminal, "--preset", "github");
    expect(result).toMatchObject({ mapping: { id: "github", where: "hooks.github" }, event: "push" });
  });

  it("finds a module by its path from the current folder, and none that lies elsewhere", async () => {
    using terminal = terminalWith();
    const elsewhere = terminal.write("elsewhere.js", TOLD);
    const { code, out } = await terminal.run("transform", "test", join(terminal.folder, "told.js"));
    expect([code, out.split("\n")[0]]).toEqual([0, "module      told.js"]);
    expect(await refused(terminal, elsewhere)).toBe(
      `${elsewhere} lies outside; a transform is a file inside of ${terminal.folder}.`,
    );
    symlinkSync(elsewhere, join(terminal.folder, "link.js"));
    expect(await refused(terminal, "link.js")).toContain("link.js leads outside by a link;");
  });

  it("says which modules there are when there is none of that name", async () => {
    using terminal = terminalWith();
    for (let number = 10; number < 22; number++) terminal.module(`m${number}.ts`, "");
    terminal.module("reveille.d.ts", "");
    terminal.module("notes.txt", "");
    mkdirSync(join(terminal.folder, "folder.js"));
    expect(await refused(terminal, "none.js")).toMatch(
      /^There is no file none\.js in \S+\. It has: .*m10\.ts.* \.\.\.$/u,
    );
    expect(await refused(terminal, "folder.js")).not.toMatch(/reveille\.d\.ts|notes/u);
    terminal.configure({ transformsDir: "empty" });
    expect(await refused(terminal, "none.js")).toContain("To begin one: reveille transform new <name>");
  });

  it("needs a configuration that is valid", async () => {
    using terminal = terminalWith({ presets: ["githb"] });
    expect(await refused(terminal, "told.js")).toContain("hooks.presets[0]");
  });
});
