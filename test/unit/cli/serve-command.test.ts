import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HttpConnection, wireRequest } from "../../integration/http/http-connection.ts";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;

beforeEach(() => {
  terminal = new RecordedProcess();
});

afterEach(() => {
  terminal.remove();
});

/** The POST call that a first start shows. */
function shownCall(): { readonly url: string; readonly headers: Record<string, string>; readonly body: string } {
  const line = /^curl -X POST (\S+) -H '([^:]+): ([^']+)' -H '([^:]+): ([^']+)' -d '([^']+)'$/mu.exec(terminal.err);
  const [, url = "", name1 = "", value1 = "", name2 = "", value2 = "", body = ""] = line ?? [];
  return { url, headers: { [name1]: value1, [name2]: value2 }, body };
}

describe("reveille serve", () => {
  it("writes a configuration on first start and shows a call that is answered 202", async () => {
    const { url, code } = await terminal.serve();
    expect(terminal.out).toBe(`Reveille is listening on ${url}\n`);
    expect(statSync(terminal.configFile).mode & 0o777).toBe(0o600);
    expect(terminal.err).toContain(`A configuration with fresh tokens was written to ${terminal.configFile}\n`);
    const call = shownCall();
    expect(call.url).toBe(`${url}/hooks/agent`);
    const response = await fetch(call.url, { method: "POST", headers: call.headers, body: call.body });
    expect(response.status).toBe(202);
    const reading = /^curl -H 'Authorization: ([^']+)' (\S+)$/mu.exec(terminal.err);
    const deliveries = await fetch(reading?.[2] ?? "", { headers: { Authorization: reading?.[1] ?? "" } });
    expect(await deliveries.json()).toMatchObject({ deliveries: [{ route: "agent", name: "First call" }] });
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
    expect(terminal.out.split("\n")).toHaveLength(2);
  });

  it("shows no token on a later start, and logs none", async () => {
    await terminal.run("init");
    terminal.out = "";
    const { code } = await terminal.serve();
    terminal.signals.emit("SIGINT");
    expect(await code).toBe(0);
    expect(terminal.err).toBe("");
    const tokens = readFileSync(terminal.configFile, "utf8").match(/[0-9a-f]{48}/gu) ?? [];
    expect(tokens).toHaveLength(2);
    const log = JSON.stringify(terminal.logger.lines);
    for (const token of tokens) expect(log).not.toContain(token);
  });

  it("is the command when none is named", async () => {
    const code = terminal.run("--port", "0", "--config", terminal.configFile);
    await vi.waitFor(() => {
      expect(terminal.out).toContain("listening on");
    }, 15_000);
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("listens where the command line says", async () => {
    const { url, code } = await terminal.serve("--host", "::1", "--state-dir", `${terminal.homeDir}/elsewhere`);
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/u);
    expect(statSync(`${terminal.homeDir}/elsewhere/reveille.sqlite`).isFile()).toBe(true);
    terminal.signals.emit("SIGTERM");
    await code;
  });

  it("shows on a terminal how far the update of an earlier version's database is", async () => {
    const stateDir = join(terminal.homeDir, "earlier");
    mkdirSync(stateDir, { mode: 0o700 });
    const database = new DatabaseSync(join(stateDir, "reveille.sqlite"));
    database.exec(readFileSync(new URL("../storage/sqlite/store-0006.sql", import.meta.url), "utf8"));
    database.close();
    terminal.isTerminal = true;
    const { code } = await terminal.serve("--state-dir", stateDir);
    expect(terminal.out).toMatch(
      /\[-{30}\] 0 % {2}0 of \d+ steps of the database's update.*\nReveille is listening on/su,
    );
    expect(terminal.out).toContain("0 of 1 rewriting of the database");
    const messages = JSON.stringify(terminal.logger.lines);
    expect(messages).toContain("bringing the database up to date");
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("prints its URL as JSON when a program asks for that", async () => {
    terminal.isTerminal = true;
    const { code } = await terminal.serve("--json");
    expect(JSON.parse(terminal.out)).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/u) as string });
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("reads the configuration again on SIGHUP", async () => {
    const { code } = await terminal.serve();
    terminal.signals.emit("SIGHUP");
    await vi.waitFor(() => {
      expect(terminal.logger.lines.map(({ message }) => message)).toContain("configuration applied");
    }, 15_000);
    terminal.signals.emit("SIGTERM");
    expect(await code).toBe(0);
  });

  it("ends at once on a second signal, and takes one that follows closely for the same", async () => {
    const { code } = await terminal.serve();
    terminal.signals.emit("SIGINT");
    terminal.signals.emit("SIGINT");
    expect(terminal.exits).toEqual([]);
    await code;
    // No one listens any more once it has ended; the process would.
    expect(terminal.signals.listenerCount("SIGINT")).toBe(0);
  });

  it("ends with the second signal's code while it is still stopping", async () => {
    const { url, code } = await terminal.serve();
    const tokens = readFileSync(terminal.configFile, "utf8").match(/[0-9a-f]{48}/gu) ?? [];
    // A request whose body never ends keeps the gateway from stopping at once.
    const hanging = await HttpConnection.open(Number(new URL(url).port));
    const headers = [`Authorization: Bearer ${tokens[1]}`, "Expect: 100-continue", "Content-Length: 12"];
    hanging.send(wireRequest({ headers }));
    // Told to go on, it is in progress.
    expect((await hanging.answer()).status).toBe(100);
    const clock = vi.spyOn(performance, "now").mockReturnValue(60_000);
    terminal.signals.emit("SIGTERM");
    // A busy npm may pass the same one on as late as this.
    clock.mockReturnValue(61_900);
    terminal.signals.emit("SIGTERM");
    expect(terminal.exits).toEqual([]);
    clock.mockReturnValue(62_100);
    terminal.signals.emit("SIGTERM");
    terminal.signals.emit("SIGINT");
    expect(terminal.exits).toEqual([143, 130]);
    clock.mockRestore();
    hanging.send('{"text":"x"}');
    expect(await code).toBe(0);
    hanging.destroy();
  });

  it("logs an uncaught error, and ends", async () => {
    const { code } = await terminal.serve();
    terminal.signals.emit("uncaughtException", new Error("nobody caught this"));
    await vi.waitFor(() => {
      expect(terminal.exits).toEqual([1]);
    }, 15_000);
    expect(String(terminal.logger.lines.at(-1)?.fields.err)).toContain("nobody caught this");
    terminal.signals.emit("SIGTERM");
    await code;
  });

  it("says in one sentence that its port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await terminal.run("init");
    terminal.out = "";
    expect(await terminal.run("serve", "--port", String(port))).toBe(1);
    expect(terminal.out).toBe("");
    expect(terminal.err).toBe(
      `Port ${port} on 127.0.0.1 is in use by another process; stop that one, or choose another port with gateway.port or --port (0: any free one).\n`,
    );
    other.close();
  });

  it("says what is wrong with the configuration, one line for each key", async () => {
    await terminal.run("init");
    writeFileSync(terminal.configFile, '{ gateway: { auth: { token: "t" } }, hooks: { enabled: true } }');
    expect(await terminal.run("serve")).toBe(1);
    expect(terminal.err.split("\n").slice(0, 2)).toEqual([
      "The configuration is not valid.",
      expect.stringMatching(/^hooks\.token: /u),
    ]);
  });

  it("says that another gateway uses the state", async () => {
    const { code } = await terminal.serve();
    terminal.err = "";
    expect(await terminal.run("serve", "--port", "0")).toBe(1);
    expect(terminal.err).toMatch(/^\S+reveille\.sqlite is in use by another process; [^\n]*\n$/u);
    terminal.signals.emit("SIGTERM");
    await code;
  });
});

describe("the command line", () => {
  it("refuses a port that is none, and what it does not know, with code 1", async () => {
    for (const args of [["serve", "--port", "65536"], ["serve", "--port", "x"], ["serve", "--prot", "1"], ["fly"]]) {
      expect(await terminal.run(...args)).toBe(1);
    }
    expect(terminal.err).toContain("It must be a whole number from 0 to 65535.");
    expect(terminal.err).toContain("--prot");
    expect(terminal.out).toBe("");
  });

  it("explains itself with code 0", async () => {
    expect(await terminal.run("--help")).toBe(0);
    expect(terminal.out).toContain("serve");
    expect(terminal.out).toContain("init");
    expect(terminal.out).toContain("check");
    expect(await terminal.run("serve", "--help")).toBe(0);
    expect(terminal.out).toContain("--state-dir <dir>");
  });
});
