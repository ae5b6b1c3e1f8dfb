import { statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NpmStart } from "./npm-start.ts";
import { PageHome } from "./page-home.ts";

/** What README.md says of the first start, with the machine's own Node in front. */
describe("npm start in an empty home", () => {
  let home: PageHome;
  let npm: NpmStart;
  let url: string;

  beforeAll(async () => {
    home = new PageHome();
    npm = new NpmStart(home);
    url = await npm.url;
  });
  afterAll(async () => {
    await npm.interrupt();
    home.remove();
  });

  /** A line that was shown to be pasted into a shell. */
  function shownCall(begin: string): string {
    return npm.err.split("\n").find((line) => line.startsWith(begin)) ?? "";
  }

  it("prints one line to standard output, which ends with its URL", () => {
    expect(npm.out).toBe(`Reveille is listening on ${url}\n`);
  });

  it("writes a configuration that is its owner's alone, and says where", () => {
    expect(npm.err).toContain(`A configuration with fresh tokens was written to ${home.configFile}\n`);
    expect(statSync(home.configFile).mode & 0o777).toBe(0o600);
    expect(statSync(home.configDir).mode & 0o777).toBe(0o700);
    expect(statSync(`${home.configDir}/state`).mode & 0o777).toBe(0o700);
    expect(statSync(`${home.configDir}/state/reveille.sqlite`).mode & 0o777).toBe(0o600);
  });

  it("prints a call that is answered 202, and another that shows its outcome", async () => {
    const { out, statuses } = await home.shell(shownCall("curl -X POST"));
    expect(statuses).toEqual([202]);
    const { runId, deliveryId } = JSON.parse(out) as Record<string, string>;
    await expect
      .poll(async () => JSON.parse((await home.shell(shownCall("curl -H"))).out) as unknown, { timeout: 30_000 })
      .toMatchObject({ deliveries: [{ id: deliveryId, state: "done", name: "First call", runIds: [runId] }] });
  });

  it("shows the run, its summary and its delivery over the API", async () => {
    const read = async (path: string): Promise<string> => {
      const call = shownCall("curl -H").replace("/deliveries", path);
      return (await home.shell(call)).out;
    };
    expect(await read("/sessions/agent:main:hook:ingress/messages")).toContain("Say hello.");
    await expect
      .poll(() => read("/sessions/agent:main:main/messages"), { timeout: 30_000 })
      .toMatch(/Hook .{0,2}First-call.{0,2}: UNTRUSTED REPORT[^]*This is the built-in offline agent/);
    expect(await read("/outbox")).toContain('"channel":"console","to":"owner","text":"This is the built-in');
  });

  it("ends with 0 after Ctrl-C", async () => {
    expect(await npm.interrupt()).toBe(0);
  });
});
