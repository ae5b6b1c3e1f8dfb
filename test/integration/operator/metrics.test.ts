import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../../src/core/errors.ts";
import { gatewayToken, hookToken } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { tableRows } from "../../docs/table-rows.ts";
import { OperatedGateway } from "./operated-gateway.ts";

const build = { id: "build", match: { path: "build" }, messageTemplate: "{{branch}}", wakeMode: "next-heartbeat" };
const bySource = { id: "any", match: { source: "robot" }, messageTemplate: "{{text}}", deliver: false };
const budget = { perHour: 10 };
let operated: OperatedGateway;

beforeAll(async () => {
  operated = await OperatedGateway.start({
    mappings: [{ ...build, deliver: true, channel: "console", to: "me" }, bySource],
    budget,
  });
});
afterAll(async () => {
  await operated[Symbol.asyncDispose]();
});

async function scrape(headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${operated.gateway.url}/metrics`, { headers });
}

async function metrics(): Promise<string> {
  const response = await scrape();
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return await response.text();
}

/** The value of one line; `undefined` when there is none. */
function valueOf(text: string, line: string): number | undefined {
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
}

describe("GET /metrics", () => {
  it("shows what can be refused and how runs can end as 0 from the start, so that the first one is an increase", async () => {
    const text = await metrics();
    const codes = Object.keys(ERRORS).map((code) => valueOf(text, `reveille_refusals_total{code="${code}"}`));
    expect(new Set(codes)).toEqual(new Set([0]));
    for (const kind of ["agent", "wake"]) {
      for (const state of ["done", "failed", "canceled", "skipped"]) {
        expect(valueOf(text, `reveille_runs_settled_total{kind="${kind}",state="${state}"}`)).toBe(0);
      }
    }
  });

  it("counts what was accepted, refused, run, sent and committed", async () => {
    const url = `${operated.gateway.url}/hooks`;
    const details = { cached_tokens: 200 };
    const counts = { prompt_tokens: 1_200, completion_tokens: 80, total_tokens: 1_280, prompt_tokens_details: details };
    operated.model.usage = { ...counts, cost: 0.004 };
    const { runs } = await operated.becomes(await operated.accept("build", { branch: "main" }), "done");
    const usage = { model: "test/model", inputTokens: 1_200, outputTokens: 80, cachedTokens: 200, costUsd: 0.004 };
    expect(runs[0]?.attempts).toMatchObject([{ status: "ok", usage }]);
    operated.model.usage = undefined;
    await operated.becomes(await operated.accept("somewhere", { source: "robot", text: "Hi." }), "done");
    const wrong = { method: "POST", headers: { authorization: "Bearer wrong" } };
    await fetch(`${url}/build`, wrong);
    const headers = { authorization: `Bearer ${hookToken}`, "content-type": "application/json" };
    await fetch(`${url}/build`, { method: "POST", headers, body: "{" });
    const text = await metrics();
    expect(valueOf(text, 'reveille_deliveries_total{route="build",state="queued"}')).toBe(1);
    expect(valueOf(text, 'reveille_deliveries_total{route="other",state="queued"}')).toBe(1);
    expect(valueOf(text, 'reveille_refusals_total{code="UNAUTHORIZED"}')).toBe(1);
    expect(valueOf(text, 'reveille_refusals_total{code="INVALID_JSON"}')).toBe(1);
    expect(valueOf(text, "reveille_accept_duration_seconds_count")).toBe(2);
    expect(valueOf(text, 'reveille_accept_duration_seconds_bucket{le="+Inf"}')).toBe(2);
    expect(valueOf(text, 'reveille_attempt_duration_seconds_count{agent="main",status="ok"}')).toBe(2);
    expect(valueOf(text, 'reveille_runs_settled_total{kind="agent",state="done"}')).toBe(2);
    expect(valueOf(text, 'reveille_replies_total{channel="console",outcome="sent"}')).toBe(1);
    expect(valueOf(text, 'reveille_tokens_total{agent="main",kind="input"}')).toBe(1_200);
    expect(valueOf(text, 'reveille_tokens_total{agent="main",kind="cached"}')).toBe(200);
    expect(valueOf(text, 'reveille_tokens_total{agent="main",kind="output"}')).toBe(80);
    expect(valueOf(text, 'reveille_cost_dollars_total{agent="main"}')).toBe(0.004);
    expect(valueOf(text, 'reveille_budget_used_ratio{scope="*",measure="runs",per="hour"}')).toBe(0.2);
    expect(valueOf(text, "reveille_commit_duration_seconds_count")).toBeGreaterThan(2);
    expect(valueOf(text, "reveille_wal_bytes")).toBeGreaterThan(0);
    expect(valueOf(text, "reveille_outages")).toBe(0);
  });

  it("shows how many runs wait, since when, and what is paused", async () => {
    await operated.api("POST", "hooks/build/pause", {});
    await operated.accept("build", { branch: "paused" });
    const text = await metrics();
    expect(valueOf(text, 'reveille_runs{state="queued"}')).toBe(1);
    expect(valueOf(text, "reveille_oldest_queued_seconds")).toBeGreaterThanOrEqual(0);
    expect(valueOf(text, 'reveille_paused{scope="build"}')).toBe(1);
    await operated.api("POST", "hooks/build/resume", {});
    await expect.poll(async () => valueOf(await metrics(), 'reveille_runs{state="queued"}')).toBe(0);
    expect(valueOf(await metrics(), 'reveille_paused{scope="build"}')).toBeUndefined();
  });

  it("is in the format that Prometheus checks", async () => {
    const { status, stdout, stderr, error } = spawnSync("promtool", ["check", "metrics"], { input: await metrics() });
    if (error !== undefined) return console.warn("promtool is missing: apt-get install prometheus");
    expect([status, String(stdout), String(stderr)]).toEqual([0, "", ""]);
  });

  it("has every metric that the page names, and no other", async () => {
    const page = readFileSync("docs/operate/observability.md", "utf8");
    const listed = tableRows(page).flatMap(([name = ""]) => (/^(?:reveille|process)_/u.test(name) ? [name] : []));
    expect(listed.toSorted()).toEqual(namesIn(await metrics()).toSorted());
  });

  it("has a panel for every metric, and every metric of a panel and of an alert", async () => {
    const names = namesIn(await metrics());
    const dashboard = JSON.parse(readFileSync("docs/grafana/reveille.json", "utf8")) as {
      panels: { targets: { expr: string }[] }[];
    };
    const shown = metricsIn(dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join("\n"));
    expect([...shown].toSorted()).toEqual(names.toSorted());
    const alerts = readFileSync("docs/grafana/reveille-alerts.yaml", "utf8")
      .match(/expr: .*/g)!
      .join("\n");
    expect([...metricsIn(alerts)].filter((name) => !names.includes(name))).toEqual([]);
  });

  it("has an alert for every refusal that is the gateway's own failure", () => {
    const [, codes = ""] = /refusals_total\{code=~"([^"]+)"\}/.exec(
      readFileSync("docs/grafana/reveille-alerts.yaml", "utf8"),
    )!;
    const failures = Object.entries(ERRORS).flatMap(([code, { status }]) => (status >= 500 ? [code] : []));
    expect(codes.split("|").toSorted()).toEqual(failures.filter((code) => code !== "SHUTTING_DOWN").toSorted());
  });

  it("takes no other method, no query and, without a token of its own, no caller from elsewhere", async () => {
    const posted = await fetch(`${operated.gateway.url}/metrics`, { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(`${operated.gateway.url}/metrics?a=1`)).status).toBe(400);
    expect((await scrape({ "x-forwarded-for": "203.0.113.7" })).status).toBe(401);
    expect((await scrape({ forwarded: "for=203.0.113.7" })).status).toBe(401);
  });

  it("answers below the API to any holder of the gateway token", async () => {
    const headers = { authorization: `Bearer ${gatewayToken}` };
    const response = await fetch(`${operated.gateway.url}/api/v1/metrics`, { headers });
    expect(namesIn(await response.text())).toContain("reveille_runs");
    expect((await fetch(`${operated.gateway.url}/api/v1/metrics`)).status).toBe(401);
  });

  it("takes its own token only, once it has one", async () => {
    const metricsToken = "a-token-that-only-prometheus-has";
    const written = JSON.parse(readFileSync(operated.fixture.configFile, "utf8")) as object;
    operated.fixture.write({
      ...written,
      telemetry: { metrics: { token: metricsToken } },
    });
    expect((await operated.gateway.reload()).applied).toBe(true);
    const statuses = [];
    for (const token of [undefined, hookToken, gatewayToken, metricsToken]) {
      statuses.push((await scrape(token === undefined ? {} : { authorization: `Bearer ${token}` })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 200]);
  });
});

/** Names of metrics in expressions; the parts of a histogram count as the histogram. */
function metricsIn(expressions: string): Set<string> {
  const names = expressions.matchAll(/\b((?:reveille|process)_[a-z_]+?)(?:_bucket|_sum|_count)?(?=[^a-z_]|$)/g);
  return new Set(Array.from(names, ([, name]) => name!));
}
