import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RecordedProcess } from "../recorded-process.ts";

let terminal: RecordedProcess;
let url: string;
let code: Promise<number>;

beforeAll(async () => {
  terminal = new RecordedProcess();
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = {
    gateway: { auth: { token: "gateway-token-of-these-tests" }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: {
      enabled: true,
      token: "hook-token-of-these-tests-here",
      mappings: [{ id: "deploys", match: { path: "deploys" }, messageTemplate: "{{text}}" }],
    },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
  ({ url, code } = await terminal.serve());
});
afterAll(async () => {
  terminal.signals.emit("SIGTERM");
  await code;
  terminal.remove();
});

async function waits(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const ended = await terminal.run("waits", ...args, "--url", url);
  return { code: ended, out: terminal.out, err: terminal.err };
}

it("makes, lists, shows and cancels a wait", async () => {
  expect(await waits()).toMatchObject({ code: 0, out: "No session waits.\n" });
  const wish = ["--value", "deploy.id=7", "--within", "2h", "--session", "hook:release", "--note", "the deploy"];
  const added = await waits("add", "--hook", "deploys", ...wish);
  const id = /^wait_[0-9a-f]{24}/u.exec(added.out)![0];
  expect(added.out).toContain("agent:main:hook:release\n    Made by a person.\n    the deploy\n");
  const listed = (await waits("list")).out.split("\n");
  expect(listed[0]).toMatch(/^WAIT +SESSION +DEADLINE +MADE BY +FOR$/u);
  expect(listed[1]).toMatch(new RegExp(`^${id} +agent:main:hook:release +\\S+Z +a person +the deploy$`, "u"));
  const shown = (await waits("show", id)).out;
  expect(shown).toContain("    a call of deploys with deploy.id = 7 has not come yet.\n    The deadline is 2");
  expect(JSON.parse((await waits("show", id, "--json")).out)).toMatchObject({ id, times: 1, seen: [] });
  expect((await waits("cancel", id)).out).toBe(`Canceled: ${id}\n`);
  const again = await waits("cancel", id);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining(`No wait "${id}" is open.`)]);
});

it("takes several events from a file", async () => {
  const file = join(dirname(terminal.configFile), "wait.json");
  writeFileSync(file, JSON.stringify({ none: [{ hook: "deploys" }], quietSeconds: 60, withinSeconds: 3_600 }));
  const { out } = await waits("add", "--file", file);
  expect(out).toContain("No a call of deploys since ");
  await waits("cancel", out.split(" ")[0]!);
});

it("says when a wait would have been fulfilled by what is stored", async () => {
  const post = (text: string): Promise<Response> =>
    fetch(`${url}/hooks/deploys`, {
      method: "POST",
      headers: { authorization: "Bearer hook-token-of-these-tests-here", "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
  for (const text of ["one", "two", "one"]) expect((await post(text)).status).toBe(202);
  const { out } = await waits("backtest", "--hook", "deploys", "--value", "text=one", "--since", "1h");
  expect(out).toMatch(/^Fulfilled:\n\S+Z {2}dlv_\S+\n\S+Z {2}dlv_\S+\n2 of 3 deliveries count\.\n/u);
  const file = join(dirname(terminal.configFile), "both.json");
  const both = { all: ["one", "two"].map((equals) => ({ hook: "deploys", correlation: { path: "text", equals } })) };
  writeFileSync(
    file,
    JSON.stringify({ ...both, none: [{ hook: "deploys" }], quietSeconds: 3_600, withinSeconds: 9_999 }),
  );
  const other = await waits("backtest", "--file", file);
  expect(other.out).toContain("It would not have been fulfilled.\n3 of 3 deliveries count.\n");
  expect(other.out).toContain("    No a call of deploys since ");
  const json = JSON.parse((await waits("backtest", "--file", file, "--json")).out) as { counted: object[] };
  expect(json).toMatchObject({ looked: 3, gone: 0, more: false, fired: [] });
  expect((await waits("list")).out).toBe("No session waits.\n");
});

it.each([
  [["--hook", "deploys"], "--within says how long"],
  [["--hook", "deploys", "--within", "soon"], 'and not "soon"'],
  [["--hook", "deploys", "--within", "1h", "--value", "7"], "deployment.id=7"],
  [["--hook", "none", "--within", "1h"], 'there is no mapping "none"'],
  [["--hook", "deploys", "--within", ""], '--within is a time such as 2h, 30m or 7d, and not "".'],
  [["--hook", "deploys", "--within", "1".repeat(101)], "--within is a time such as 2h"],
  [["--file", "/nowhere.json"], "cannot be read as JSON"],
])("says what is wrong with %j", async (args, problem) => {
  const refused = await waits("add", ...args);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(problem)]);
});

it.each(["null", "7", "[]"])("refuses a file that holds %s and no object", async (text) => {
  const file = join(dirname(terminal.configFile), "none.json");
  writeFileSync(file, text);
  for (const command of ["add", "backtest"]) {
    const refused = await waits(command, "--file", file);
    const problem = `${file} must hold one object, such as { "hook": "deploys", "withinSeconds": 7200 }.\n`;
    expect([refused.code, refused.err]).toEqual([1, problem]);
  }
});
