import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OtlpCollector } from "../fixtures/otlp-collector.ts";
import { GATEWAY_TOKEN } from "./host-config.ts";
import { installationOfSuite } from "./installation-of-suite.ts";
import { HOOK_TOKEN, OWN_CONNECTION } from "./running-installation.ts";

const authorization = `Bearer ${GATEWAY_TOKEN}`;
const secret = "the-secret-of-github-in-this-suite";

describe("what an operator sees and does in the real OpenClaw", () => {
  const installation = installationOfSuite({
    enabled: true,
    token: HOOK_TOKEN,
    presets: ["github"],
    github: { secret },
  });

  async function ask(
    path: string,
    { headers = {}, ...init }: { headers?: Record<string, string>; method?: string; body?: string } = {
      headers: { authorization },
    },
  ): Promise<Response> {
    const url = `${installation().gateway.url}/plugins/reveille/api/v1${path}`;
    return fetch(url, { ...init, headers: { ...headers, ...OWN_CONNECTION } });
  }

  /** Accepts a call whose reply goes to that recipient, and waits for it. */
  async function accept(to: string): Promise<string> {
    const call = { message: `Look at it [say ${to}]`, name: "Look", channel: "telegram", to };
    const { status, text } = await installation().post("/reveille/agent", call);
    expect(status).toBe(202);
    await installation().eventually(() => expect(repliesTo(to)).toBe(1));
    return (JSON.parse(text) as { deliveryId: string }).deliveryId;
  }

  function repliesTo(to: string): number {
    return installation().botApi.sent.filter((message) => message.to === to).length;
  }

  it("is behind the gateway's own authentication, which the hook token is not", async () => {
    expect((await ask("/deliveries", {})).status).toBe(401);
    expect((await ask("/deliveries", { headers: { authorization: `Bearer ${HOOK_TOKEN}` } })).status).toBe(401);
    expect((await ask("/deliveries")).status).toBe(200);
  });

  it("opens the console by a link that the host's own command prints, and by nothing else", async () => {
    const { url } = installation().gateway;
    const page = `${url}/plugins/reveille/console`;
    const shown = await fetch(`${page}/`, { headers: OWN_CONNECTION });
    expect([shown.status, shown.headers.get("content-security-policy")]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ]);
    expect((await fetch(`${page}/api/deliveries`, { headers: OWN_CONNECTION })).status).toBe(401);
    expect((await ask("/console/links", { method: "POST", body: "{}" })).status).toBe(401);
    const printed = await installation().openclaw("reveille", "console", "--json");
    expect(printed.code).toBe(0);
    const link = (JSON.parse(printed.out) as { url: string }).url.split("#sign-in=")[1];
    const headers = { "x-reveille-console": "1", "content-type": "application/json", ...OWN_CONNECTION };
    const signedIn = await fetch(`${page}/api/sign-in`, { method: "POST", headers, body: JSON.stringify({ link }) });
    const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    const listed = await fetch(`${page}/api/deliveries`, { headers: { cookie, ...OWN_CONNECTION } });
    expect([signedIn.status, listed.status]).toEqual([200, 200]);
  });

  it("shows a delivery with its runs, and replays it over HTTP", async () => {
    const id = await accept("501");
    await installation().eventually(async () => {
      const attempts = [{ status: "ok", usage: { inputTokens: 11, outputTokens: 7 } }];
      expect(await (await ask(`/deliveries/${id}`)).json()).toMatchObject({
        id,
        state: "done",
        route: "agent",
        runs: [{ attempts }],
      });
    });
    const init = { method: "POST", headers: { authorization, "content-type": "application/json" }, body: "{}" };
    const replayed = await ask(`/deliveries/${id}/replay`, init);
    expect([replayed.status, await replayed.json()]).toMatchObject([200, { ok: true, outcome: "replayed" }]);
    await installation().eventually(() => expect(repliesTo("501")).toBe(2));
  });

  it("sends spans to the collector that the host's environment names", async () => {
    const collector = await OtlpCollector.listen();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=key-of-the-collector",
    };
    try {
      await installation().restart({ env });
      await accept("503");
      await installation().eventually(() => {
        expect(collector.spans.map(({ name }) => name)).toEqual(
          expect.arrayContaining(["POST agent", "run agent", "invoke_agent main", "summary", "reply"]),
        );
      });
      expect(collector.keys).toContain("key-of-the-collector");
    } finally {
      collector.close();
      await installation().restart();
    }
  });

  it("lists and replays deliveries from the host's own command line", async () => {
    const id = await accept("502");
    const listed = await installation().openclaw("reveille", "deliveries", "list", "--json");
    expect(listed.code).toBe(0);
    expect(listed.out).toContain(id);
    const replayed = await installation().openclaw("reveille", "deliveries", "replay", id);
    expect([replayed.code, replayed.out]).toEqual([0, expect.stringContaining(id)]);
    await installation().eventually(() => expect(repliesTo("502")).toBe(2));
  });

  it("lists and replays deliveries by gateway methods, which the host's clients call", async () => {
    const id = await accept("503");
    const call = (name: string, params: object) =>
      installation().openclaw(
        "gateway",
        "call",
        `reveille.deliveries.${name}`,
        "--json",
        "--params",
        JSON.stringify(params),
      );
    const listed = await call("list", { route: "agent" });
    expect([listed.code, listed.out]).toEqual([0, expect.stringContaining(id)]);
    expect((await call("get", { id })).out).toContain('"attempts"');
    expect((await call("replay", { id })).out).toContain('"replayed"');
    await installation().eventually(() => expect(repliesTo("503")).toBe(2));
    expect((await call("get", { id: "dlv_none" })).out).toContain("There is no delivery");
  });

  it("lets the owner's agent list deliveries by a tool, inside the boundary, and no run of a hook", async () => {
    const { model } = installation();
    const id = await accept("504");
    const use = '[use webhook_deliveries {"action":"list"}]';
    await installation().openclaw("agent", "--agent", "main", "--message", `What came in today? ${use}`);
    await installation().eventually(() => {
      const answered = model.calls.find(({ session, results }) => session.endsWith(":main") && results.includes(id));
      expect(answered?.results).toContain("EXTERNAL_UNTRUSTED_CONTENT");
    });
    expect((await installation().post("/reveille/agent", { message: `Look ${use}`, deliver: false })).status).toBe(202);
    await installation().eventually(() => {
      const run = model.calls.find(({ session, results }) => session.includes(":subagent:") && results !== "[]");
      expect(run?.results).toMatch(/webhook_deliveries/);
      expect(run?.results).not.toContain("dlv_");
    });
  });

  it("signs a sample as its sender would, and prints its outcome", async () => {
    const sent = await installation().openclaw("reveille", "send", "github", "push");
    expect(sent.out).toContain("200 OK");
    expect(sent.out).toMatch(/delivery \S+: done/);
    expect(sent.code).toBe(0);
  });

  it("says of the configuration what the gateway would say, by the names that it has there", async () => {
    const checked = await installation().openclaw("reveille", "check");
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining("openclaw.json is valid.")]);
    installation().configure({
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [{ action: "agent", transform: { module: "no.js" } }],
    });
    const module = "plugins.entries.reveille.config.mappings[0].transform.module: ";
    const setAside = await installation().openclaw("reveille", "check");
    expect([setAside.code, setAside.out]).toEqual([0, expect.stringContaining(module)]);
    const refused = await installation().openclaw("reveille", "check", "--strict");
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining(module)]);
  });

  it("is kept in a folder of the host's state that no other user can open", () => {
    expect(statSync(join(installation().home, ".openclaw/reveille/reveille.sqlite")).isFile()).toBe(true);
    expect(statSync(join(installation().home, ".openclaw/reveille")).mode & 0o077).toBe(0);
  });
});
