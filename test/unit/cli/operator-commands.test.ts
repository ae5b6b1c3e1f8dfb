import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { DeliveryDetail, DeliverySummary } from "../../../src/core/delivery.ts";
import type { MappingStats } from "../../../src/index.ts";
import { RecordedProcess } from "./recorded-process.ts";

const HOOK_TOKEN = "hook-token-of-these-tests-here";
const GATEWAY_TOKEN = "gateway-token-of-these-tests";

const build = {
  id: "build",
  match: { path: "build" },
  messageTemplate: "The build of {{branch}} failed.",
  name: "CI",
  wakeMode: "next-heartbeat",
  deliver: false,
  budget: { perHour: 500 },
};

const PAGES = ["--text", "page-", "--since", "1h", "--state", "done", "--route", "build"];
const TWO_OF_BUILD = ["--route", "build", "--limit", "2", "--dry-run"];

let terminal: RecordedProcess;
let url: string;
let code: Promise<number>;

function configure(token = GATEWAY_TOKEN): void {
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = {
    gateway: { auth: { token }, shutdownSeconds: 5 },
    agents: { defaults: { heartbeat: { every: "0m" } } },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [build],
      presets: ["github"],
      github: { secret: "secret-of-the-operator-tests", deliver: false, wakeMode: "next-heartbeat" },
    },
  };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
}

beforeAll(async () => {
  terminal = new RecordedProcess();
  configure();
  ({ url, code } = await terminal.serve());
});
afterAll(async () => {
  terminal.signals.emit("SIGTERM");
  await code;
  terminal.remove();
});
beforeEach(() => {
  terminal.answers = undefined;
  terminal.isTerminal = false;
});

/** Runs a command against the gateway. */
async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  terminal.out = "";
  terminal.err = "";
  const code = await terminal.run(...args, "--url", url);
  return { code, out: terminal.out, err: terminal.err };
}

async function printed(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(...args);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

async function json<Document>(...args: readonly string[]): Promise<Document> {
  return JSON.parse(await printed(...args, "--json")) as Document;
}

/** Calls the hook and gives the delivery's id once it is done. */
async function accept(branch: string, wantedState = "done"): Promise<string> {
  const response = await fetch(`${url}/hooks/build`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ branch }),
  });
  const { deliveryId } = (await response.json()) as { deliveryId: string };
  await vi.waitFor(async () => {
    expect((await json<DeliveryDetail>("deliveries", "show", deliveryId)).state).toBe(wantedState);
  }, 15_000);
  return deliveryId;
}

describe("reveille deliveries list", () => {
  it("prints the newest as a table whose ids can be pasted, one line each, whatever was sent", async () => {
    const first = await accept("one");
    await printed("send", "github", "push");
    const [head, newest, older] = (await printed("deliveries")).split("\n");
    expect(head).toMatch(/^ID +RECEIVED +ROUTE +STATE +WHAT +WHY$/u);
    expect(newest).toMatch(/^dlv_\w{24} +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +github +done +push by \S+/u);
    expect(older).toMatch(new RegExp(`^${first} .* build +done +CI$`, "u"));
  });

  it("takes filters, also as JSON, and goes through as many pages as it takes", async () => {
    const ids: string[] = [];
    for (const branch of ["page-1", "page-2", "page-3"]) ids.unshift(await accept(branch));
    const found = await json<{ deliveries: DeliverySummary[]; nextCursor: string | null }>(
      "deliveries",
      "list",
      ...PAGES,
    );
    expect(found.deliveries.map(({ id }) => id)).toEqual(ids);
    expect(found.nextCursor).toBeNull();
    expect(await printed("deliveries", "list", "--text", "page-", "--limit", "2")).toMatch(/raise --limit/u);
    expect(await printed("deliveries", "list", "--limit", "10000")).not.toMatch(/raise --limit/u);
    expect(await printed("deliveries", "list", "--sender", "nobody-at-all")).toBe("No delivery fits.\n");
  });

  it("says what the gateway has against a filter", async () => {
    const refused = await run("deliveries", "list", "--state", "lost");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/^The gateway answered 400: state must be one of filtered/u);
    expect((await run("deliveries", "list", "--limit", "0")).err).toContain("a whole number from 1 to 10000");
  });
});

describe("reveille deliveries list --follow", () => {
  it("prints what is there, what arrives and what changes, until a signal ends it", async () => {
    const before = await accept("followed-before");
    const other = new RecordedProcess();
    onTestFinished(() => other.remove());
    mkdirSync(dirname(other.configFile), { recursive: true });
    copyFileSync(terminal.configFile, other.configFile);
    const following = other.run("deliveries", "list", "--follow", "--limit", "1", "--url", url);
    await vi.waitFor(() => expect(other.out).toMatch(new RegExp(`^${before} .* done`, "u")), 15_000);
    const response = await fetch(`${url}/hooks/build`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ branch: "followed" }),
    });
    const { deliveryId } = (await response.json()) as { deliveryId: string };
    await vi.waitFor(() => expect(other.out).toMatch(new RegExp(`^${deliveryId} .* done`, "mu")), 15_000);
    other.signals.emit("SIGINT");
    expect(await following).toBe(130);
  });
});

describe("reveille deliveries stats", () => {
  it("counts by mapping, with the runs of a day at that rate beside the budget", async () => {
    await accept("counted");
    const text = await printed("deliveries", "stats", "--since", "1h");
    expect(text).toMatch(/^MAPPING +DELIVERIES +STATES +RUNS +RUNS A DAY +BUDGET A DAY +TOKENS +COST$/mu);
    expect(text).toMatch(/^build +\d+ +\d+ done +\d+ +\d+ +none *$/mu);
    expect(text).toMatch(
      /^At this rate: \d+\.\d runs and \d+\.\d MB a day; under the current retention the deliveries come to \d+\.\d MB\.$/mu,
    );
    const { mappings } = await json<{ mappings: MappingStats[] }>("deliveries", "stats", "--since", "1h");
    const stats = mappings.find(({ name }) => name === "build")!;
    expect(stats.states.done).toBe(stats.deliveries);
    expect(Math.round(stats.perDay.runs)).toBe(stats.runs * 24);
    expect(await printed("deliveries", "stats", "--since", "9d", "--until", "8d")).toMatch(
      /^No delivery was received/u,
    );
    expect((await run("deliveries", "stats", "--since", "1h", "--until", "2h")).err).toContain("since must be before");
  });
});

describe("reveille deliveries show", () => {
  it("prints one with its runs, attempts and reasons", async () => {
    const id = await accept("shown\u001B[2J");
    const text = await printed("deliveries", "show", id);
    expect(text).toMatch(
      new RegExp(`^${id}  done\n  received +\\S+Z\n  answered +202\n  route +build\n  mapping +build\n`, "u"),
    );
    expect(text).toMatch(/^ {2}body +\d+ bytes$/mu);
    expect(text).toMatch(/^ {4}content-type: application\/json$/mu);
    expect(text).toMatch(/^run_\w+ {2}agent {2}done$/mu);
    expect(text).toMatch(/^ {2}text +The build of shown�\[2J failed\.$/mu);
    expect(text).toMatch(/^ {2}attempt 1 {2}\S+Z to \S+Z {2}ok$/mu);
    expect(text).toMatch(/^ {2}reply\n {4}\S/mu);
    expect(text).toMatch(/^ {2}summarized +\S+Z$/mu);
    expect(text).toMatch(/^ {2}settled +\S+Z$/mu);
    expect(text).not.toContain("\u001B");
    expect(await json("deliveries", "show", id)).toMatchObject({ id, state: "done" });
  });

  it("prints the body as it came in, without what a terminal would obey when that is one", async () => {
    const id = await accept("raw\u001B[2J");
    const body = JSON.stringify({ branch: "raw\u001B[2J" });
    expect(await printed("deliveries", "show", id, "--body")).toBe(body);
    terminal.isTerminal = true;
    expect(await printed("deliveries", "show", id, "--body")).toBe(`${body}\n`);
    terminal.isTerminal = false;
    expect((await run("deliveries", "show", id, "--body", "--json")).err).toContain("leave --json out");
  });

  it("says that there is no such delivery", async () => {
    expect(await run("deliveries", "show", "dlv_nobody")).toMatchObject({
      code: 1,
      err: 'There is no delivery "dlv_nobody". To find one: reveille deliveries list\n',
    });
  });
});

describe("reveille deliveries replay", () => {
  it("replays those that are named and prints the new ids", async () => {
    const id = await accept("again");
    const text = await printed("deliveries", "replay", id);
    const [, replayed] = /replayed as (dlv_\w+) \(queued\)$/mu.exec(text) ?? [];
    const shown = await printed("deliveries", "show", replayed ?? "");
    expect(shown).toMatch(new RegExp(`^ {2}replay of +${id}$`, "mu"));
    const { deliveries } = await json<{ deliveries: { outcome: string }[] }>(
      "deliveries",
      "replay",
      id,
      "--as-accepted",
    );
    expect(deliveries).toMatchObject([{ id, outcome: "replayed" }]);
  });

  it("prints with --dry-run what would happen, and changes nothing", async () => {
    await accept("dry");
    const before = await json<{ deliveries: unknown[] }>("deliveries", "list", "--limit", "500");
    expect(await printed("deliveries", "replay", "--text", "of dry failed", "--dry-run")).toMatch(
      /would be replayed$/mu,
    );
    const { dryRun, matched } = await json<{ dryRun: boolean; matched: number }>(
      "deliveries",
      "purge",
      ...TWO_OF_BUILD,
    );
    expect([dryRun, matched]).toEqual([true, 2]);
    expect(await json("deliveries", "list", "--limit", "500")).toEqual(before);
    expect(await printed("deliveries", "purge", "--text", "nothing has this", "--dry-run")).toBe("No delivery fits.\n");
  });

  it("asks for confirmation on a terminal, and elsewhere requires --yes", async () => {
    await accept("asked-1");
    await accept("asked-2");
    const filter = ["--text", "of asked-", "--state", "done"];
    const unreported = await run("deliveries", "replay", ...filter);
    expect(unreported).toMatchObject({ code: 1, out: "" });
    expect(unreported.err).toContain("Look at them with --dry-run first, then add --yes");

    terminal.answers = [false];
    const declined = await run("deliveries", "replay", ...filter);
    expect(declined).toMatchObject({ code: 1, out: "" });
    expect(declined.err).toContain("2 deliveries would be replayed. Continue?");
    expect(declined.err).toContain("Nothing was changed.");

    terminal.answers = [true];
    const confirmed = await run("deliveries", "replay", ...filter);
    expect(confirmed.code).toBe(0);
    expect(confirmed.out.match(/replayed as dlv_/gu)).toHaveLength(2);

    terminal.answers = [true];
    const nothing = await run("deliveries", "cancel", "--text", "of asked-1", "--state", "done");
    expect(nothing.code).toBe(0);
    expect(nothing.err).toBe("");
    expect(nothing.out).toContain("left alone: it is done; nothing of it is left to cancel");
    expect(terminal.answers).toEqual([true]);
    expect(await printed("deliveries", "replay", ...filter, "--dry-run")).not.toContain("would be replayed");
  });

  it("with --limit continues with the rest when it is run again", async () => {
    const older = await accept("limited-1");
    const newer = await accept("limited-2");
    const command = ["deliveries", "replay", "--text", "of limited-", "--limit", "1", "--yes"] as const;
    const first = await printed(...command);
    expect(first).toMatch(new RegExp(`^${newer} .* replayed as dlv_\\w+ \\(queued\\)$`, "mu"));
    expect(first).toContain("More deliveries fit than were taken; run it again for the rest");
    const second = await printed(...command);
    expect(second).toMatch(new RegExp(`^${older} .* replayed as dlv_\\w+ \\(queued\\)$`, "mu"));
    expect(second).toMatch(new RegExp(`^${newer} .* left alone: replayed as dlv_\\w+`, "mu"));
    expect(second).not.toContain("More deliveries fit");
  });

  it("wants ids or filters, and not both", async () => {
    expect((await run("deliveries", "purge")).err).toContain("with filters such as --state failed");
    for (const more of [
      ["--state", "done"],
      ["--limit", "3"],
    ]) {
      expect((await run("deliveries", "purge", "dlv_1", ...more)).err).toContain("either by their ids or with filters");
    }
  });
});

describe("reveille deliveries cancel and purge", () => {
  it("cancel what waits, remove what has ended, and fail for what is missing or impossible", async () => {
    await printed("hooks", "pause", "build");
    const id = await accept("waits", "queued");
    const open = await run("deliveries", "purge", id);
    expect(open.code).toBe(1);
    expect(open.out).toContain("left alone: it is queued; cancel it first, or wait until it has ended");
    expect(await printed("deliveries", "cancel", id)).toMatch(/queued +canceled \(1 run\)$/mu);
    await printed("hooks", "resume", "build");
    await accept("newer");
    expect(await printed("deliveries", "purge", id)).toMatch(/canceled +removed$/mu);
    const gone = await run("deliveries", "purge", id);
    expect(gone.code).toBe(1);
    expect(gone.out).toMatch(new RegExp(`^${id} +there is no such delivery$`, "mu"));
  });

  it("goes through more ids than the gateway takes at once", async () => {
    const ids = Array.from({ length: 1_001 }, (_, at) => `dlv_${at}`);
    const { code, out } = await run("deliveries", "cancel", ...ids, "--json");
    const { matched, deliveries } = JSON.parse(out) as { matched: number; deliveries: { outcome: string }[] };
    expect([code, matched, deliveries.length]).toEqual([1, 1_001, 1_001]);
    expect(new Set(deliveries.map(({ outcome }) => outcome))).toEqual(new Set(["unknown"]));
  });

  it("shows on a terminal how far it is", async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `dlv_${at}`);
    terminal.isTerminal = true;
    const { code, out } = await run("deliveries", "cancel", ...ids);
    expect(code).toBe(1);
    expect(out.match(/\d+ of 60 deliveries/gu)).toEqual([
      "0 of 60 deliveries",
      "25 of 60 deliveries",
      "50 of 60 deliveries",
    ]);
    expect(out.match(/there is no such delivery/gu)).toHaveLength(60);
    expect((await run("deliveries", "cancel", "dlv_0")).out).not.toContain("[");
  });
});

describe("reveille hooks", () => {
  it("lists the mappings with what of their budgets is used and what is paused", async () => {
    await accept("counted");
    await printed("hooks", "pause", "github");
    const lines = (await printed("hooks")).split("\n");
    expect(lines[0]).toMatch(/^MAPPING +ROUTE +ACTION +PRESET +BUDGET +LAST CALL +PAUSED$/u);
    expect(lines[1]).toMatch(/^\* +all runs$/u);
    expect(lines[2]).toMatch(/^build +build +agent +\d+ of 500 in an hour +\S+Z$/u);
    expect(lines[3]).toMatch(/^github +github +agent +github +\S+Z +since \S+Z: paused by the operator$/u);
    expect(await json<object>("hooks", "list")).toMatchObject({ all: { scope: "*" } });
    await printed("hooks", "resume", "github");
  });

  it("lets a sender's sample wait, and reveille send prints its state after the wait", async () => {
    await printed("hooks", "pause", "github");
    expect(await printed("send", "github", "issue_comment", "--wait", "1")).toMatch(/^delivery dlv_\w+: queued$/mu);
    await printed("hooks", "resume", "github");
  });

  it("pauses and resumes, and says when it was so before", async () => {
    expect(await printed("hooks", "pause", "build")).toBe(
      '"build" is paused: calls are accepted and wait. To continue: reveille hooks resume build\n',
    );
    expect(await printed("hooks", "pause", "build")).toBe('"build" was paused before.\n');
    expect(await printed("hooks", "resume", "build")).toBe('"build" continues.\n');
    expect(await printed("hooks", "resume", "build")).toBe('"build" was not paused.\n');
    expect(await printed("hooks", "pause", "*")).toContain("To continue: reveille hooks resume '*'");
    expect(await json("hooks", "resume", "*")).toEqual({ ok: true, scope: "*", paused: false, changed: true });
    expect((await run("hooks", "pause", "biuld")).err).toBe(
      'The gateway answered 404: There is no mapping "biuld"; did you mean "build"?\n',
    );
  });
});

describe("a command for the running gateway", () => {
  it("says that none runs, that the token is wrong, and what is wrong with the configuration", async () => {
    terminal.err = "";
    expect(await terminal.run("hooks", "--url", "http://127.0.0.1:9")).toBe(1);
    expect(terminal.err).toMatch(/^The gateway does not answer under http:\/\/127\.0\.0\.1:9: .*Is it running\?\n$/u);
    terminal.err = "";
    expect(await terminal.run("hooks", "--url", "no url")).toBe(1);
    expect(terminal.err).toContain("--url must begin with http:// or https://, as in --url http://127.0.0.1:");
    const other = new RecordedProcess();
    try {
      expect(await other.run("hooks", "--url", url)).toBe(1);
      expect(other.err).toContain("reveille.json5");
      mkdirSync(dirname(other.configFile), { recursive: true });
      writeFileSync(other.configFile, '{"gateway":{"auth":{"token":"another-token-of-these-tests"}}}', { mode: 0o600 });
      other.err = "";
      expect(await other.run("hooks", "--url", url)).toBe(1);
      expect(other.err).toContain("The gateway answered 401: The request carries no valid gateway token");
    } finally {
      other.remove();
    }
  });
});
