import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EmbeddedGateway, GatewayOptions } from "../../../../../src/hosts/embedded/gateway.ts";
import type { GatewayPlugin } from "../../../../../src/core/host.ts";
import { RawConnection } from "../server/raw-connection.ts";
import {
  cloudflaredFailure,
  cloudflaredOutput,
  FakeTools,
  ngrokOutput,
  tailscaleOutput,
  tailscaleRefusal,
} from "./fake-tools.ts";
import { baseConfig, callHook, GatewayFixture, gatewayToken, hookToken, readApi } from "./fixture.ts";

interface Status {
  readonly hooksUrl: string | null;
  readonly exposed: { readonly via: string; readonly url: string | null; readonly problem: string | null } | null;
  readonly problems: readonly { readonly code: string }[];
}

const WAIT = { timeout: 20_000 };
const FAST = { firstDelayMs: 10, maxDelayMs: 50 };
let fixture: GatewayFixture;
let tools: FakeTools;

beforeEach(() => {
  fixture = new GatewayFixture();
  tools = new FakeTools(fixture.folder);
});

afterEach(async () => {
  await fixture.remove();
});

function exposed(expose: object, hooks: object = {}): object {
  return { ...baseConfig, gateway: { ...baseConfig.gateway, expose }, hooks: { ...baseConfig.hooks, ...hooks } };
}

async function start(
  expose: object,
  options: Partial<GatewayOptions> & { hooks?: object } = {},
): Promise<EmbeddedGateway> {
  fixture.write(exposed(expose, options.hooks));
  return fixture.start({ env: tools.env, toolTimings: FAST, ...options });
}

async function statusOf(gateway: EmbeddedGateway): Promise<Status> {
  return (await (await readApi(gateway, "status")).json()) as Status;
}

/** The status once the hooks have that URL. */
async function untilUrl(gateway: EmbeddedGateway, hooksUrl: string): Promise<Status> {
  await vi.waitFor(async () => expect((await statusOf(gateway)).hooksUrl).toBe(hooksUrl), WAIT);
  return statusOf(gateway);
}

/** The problem of the tool once it matches. */
async function untilProblem(gateway: EmbeddedGateway, problem: RegExp): Promise<Status> {
  await vi.waitFor(async () => expect((await statusOf(gateway)).exposed?.problem).toMatch(problem), WAIT);
  return statusOf(gateway);
}

/** The port that the tool was started with. */
function exposedPort(name: string): number {
  return Number(/127\.0\.0\.1:(\d+)/u.exec(tools.calls(name).at(-1) ?? "")?.[1]);
}

describe("gateway.expose", () => {
  it("takes effect at a reload also when a plugin throws instead of registering its routes", async () => {
    let breaks = false;
    const careless: GatewayPlugin = {
      apply: (host) =>
        host.lifecycle.onHttpRoute.tap("careless", () => {
          if (breaks) throw new Error("broke in route");
        }),
    };
    tools.addLasting("ngrok", ngrokOutput("ab12"));
    const gateway = await fixture.start({ env: tools.env, toolTimings: FAST, plugins: [careless] });
    breaks = true;
    fixture.write(exposed({ via: "ngrok" }));
    expect(await gateway.reload()).toMatchObject({
      applied: true,
      failures: [expect.stringContaining("broke in route")],
    });
    await untilUrl(gateway, "https://ab12.ngrok-free.app/hooks");
  });

  it.each([
    [
      "cloudflared",
      cloudflaredOutput("two-words"),
      "https://two-words.trycloudflare.com",
      2,
      "tunnel --no-autoupdate --url http://127.0.0.1:",
    ],
    ["tailscale", tailscaleOutput("box.tail1.x"), "https://box.tail1.x.ts.net", 1, "funnel http://127.0.0.1:"],
    ["ngrok", ngrokOutput("ab12"), "https://ab12.ngrok-free.app", 1, "http http://127.0.0.1:"],
  ] as const)("starts %s, and its URL is that of the hooks", async (via, output, url, descriptor, args) => {
    tools.addLasting(via, output, descriptor);
    const urls: string[] = [];
    const gateway = await start({ via }, { onHooksUrl: (hooksUrl) => urls.push(hooksUrl) });
    const status = await untilUrl(gateway, `${url}/hooks`);
    expect(status.exposed).toEqual({ via, url, problem: null });
    expect(status.problems).toEqual([]);
    expect(urls).toEqual([`${url}/hooks`]);
    expect(tools.calls(via)[0]).toContain(args);
    expect(fixture.logger.lines).toContainEqual({
      level: "info",
      fields: { url, via },
      message: "the hooks have a public URL",
    });
    await gateway.stop();
    expect(tools.alive(via)).toEqual([]);
  });

  it("passes calls to the hooks, and to nothing else of the gateway, whatever a path looks like", async () => {
    tools.addLasting("ngrok", ngrokOutput("ab12"));
    const gateway = await start({ via: "ngrok" });
    await untilUrl(gateway, "https://ab12.ngrok-free.app/hooks");
    const port = exposedPort("ngrok");
    const answer = await fetch(`http://127.0.0.1:${port}/hooks/wake`, {
      method: "POST",
      headers: { authorization: `Bearer ${hookToken}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "x" }),
    });
    expect(answer.status).toBe(200);
    const paths = [
      "/ /health /ready /metrics /console /console/ /api/v1/status /api/v1 * //api/v1/status /./api/v1/status",
      `http://127.0.0.1/api/v1/status http://127.0.0.1:${port}/console/ /api/v1/status?/hooks/ /api/v1/status#/hooks`,
      "/hooks/../api/v1/status /hooks/..%2fapi/v1/status /hooks/%2e%2e/metrics /hooks\\..\\metrics /hooksx/../health",
      "/hooks/..;/api/v1/status /hooks/../console/ /HOOKS/../health /hooks%00/../health",
      "/hooks/.reveille-check/ /hooks/.reveille-check/x",
    ].flatMap((line) => line.split(" "));
    for (const path of paths) {
      const connection = await RawConnection.open(port);
      connection.send(
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gatewayToken}\r\nConnection: close\r\n\r\n`,
      );
      await vi.waitFor(() => expect(connection.ended).toBe(true), WAIT);
      expect([path, connection.received.split("\r\n")[0]]).toEqual([path, expect.stringMatching(/ (?:400|404|405) /u)]);
      expect(connection.received).not.toMatch(/"status":"|"ready"|reveille_|<html/u);
    }
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
  });

  it("exposes the API only when asked, and not the console with it", async () => {
    tools.addLasting("ngrok", ngrokOutput("ab12"));
    const gateway = await start({ via: "ngrok", also: ["api"] });
    await untilUrl(gateway, "https://ab12.ngrok-free.app/hooks");
    const url = `http://127.0.0.1:${exposedPort("ngrok")}`;
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(401);
    const headers = { authorization: `Bearer ${gatewayToken}` };
    expect((await fetch(`${url}/api/v1/status`, { headers })).status).toBe(200);
    for (const path of ["/console/", "/metrics", "/health"]) expect((await fetch(`${url}${path}`)).status).toBe(404);
    fixture.write(exposed({ via: "ngrok", also: ["console"] }));
    await gateway.reload();
    await vi.waitFor(() => expect(tools.calls("ngrok")).toHaveLength(2), WAIT);
    await untilUrl(gateway, "https://ab12.ngrok-free.app/hooks");
    const next = `http://127.0.0.1:${exposedPort("ngrok")}`;
    expect((await fetch(`${next}/console/api/status`)).status).toBe(401);
    expect((await fetch(`${next}/api/v1/status`, { headers })).status).toBe(404);
  });

  it("takes the client's address from the tool, never from the caller, and on the other port from neither", async () => {
    tools.addLasting("tailscale", tailscaleOutput("box.tail1"));
    const gateway = await start({ via: "tailscale" });
    await untilUrl(gateway, "https://box.tail1.ts.net/hooks");
    const guess = async (base: string, forwarded: string): Promise<number> =>
      (
        await fetch(`${base}/hooks/wake`, {
          method: "POST",
          headers: { authorization: "Bearer wrong", "x-forwarded-for": forwarded },
        })
      ).status;
    const tunnel = `http://127.0.0.1:${exposedPort("tailscale")}`;
    // What is before the last address is the caller's own claim: another one each time changes nothing.
    await Promise.all(Array.from({ length: 20 }, (_, at) => guess(tunnel, `198.51.100.${at}, 203.0.113.7`)));
    expect(await guess(tunnel, "198.51.100.99, 203.0.113.7")).toBe(429);
    expect(await guess(tunnel, "203.0.113.8")).toBe(401);
    expect(await guess(gateway.url, "203.0.113.7")).toBe(401);
    expect(fixture.logger.lines.filter(({ fields }) => fields["client"] === "203.0.113.7").length).toBeGreaterThan(0);
    expect(fixture.logger.lines.filter(({ fields }) => String(fields["client"]).startsWith("198.51.100."))).toEqual([]);
  });

  it("takes all callers of a program of the owner's for one, unless it writes their addresses itself", async () => {
    tools.addLasting("mine", "connected to https://mine.example.org.");
    const command = ["mine", "{port}", "--to={target}"];
    const gateway = await start({ via: "command", command });
    await untilUrl(gateway, "https://mine.example.org/hooks");
    const port = exposedPort("mine");
    expect(tools.calls("mine")[0]).toBe(`${port} --to=http://127.0.0.1:${port}`);
    const clients = async (at: number): Promise<unknown> => {
      fixture.logger.lines.length = 0;
      const headers = { authorization: "Bearer wrong", "x-forwarded-for": "203.0.113.9" };
      await fetch(`http://127.0.0.1:${at}/hooks/wake`, { method: "POST", headers });
      return fixture.logger.lines.find(({ fields }) => "client" in fields)?.fields["client"];
    };
    expect(await clients(port)).toBe("unknown");
    fixture.write(exposed({ via: "command", command, forwarded: true }));
    await gateway.reload();
    await vi.waitFor(() => expect(tools.calls("mine")).toHaveLength(2), WAIT);
    await untilUrl(gateway, "https://mine.example.org/hooks");
    expect(await clients(exposedPort("mine"))).toBe("203.0.113.9");
  });

  it("says that a tool is missing, and starts it once it is there", async () => {
    const gateway = await start({ via: "cloudflared" });
    const { problems } = await untilProblem(gateway, /^cloudflared is not installed, or not in the PATH/u);
    expect(problems.map(({ code }) => code)).toEqual(["NOT_EXPOSED"]);
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(200);
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
    tools.addLasting("cloudflared", cloudflaredOutput("late"), 2);
    await untilUrl(gateway, "https://late.trycloudflare.com/hooks");
  });

  it("says how a tool ended and what it printed last, without a secret, and warns of the same once", async () => {
    const secret = "2abcDEFghiJKLmnoPQRstuVWXyz_7abcDEFghiJKLmnoPQRs";
    tools.add("ngrok", `echo "ERROR:  The authtoken is not valid. Yours: ${secret} $OTHER_KEY"; exit 1`);
    const env = { ...tools.env, OTHER_KEY: "key-of-the-tool" };
    const gateway = await start({ via: "ngrok", env: ["OTHER_KEY"] }, { env });
    await untilProblem(gateway, /^ngrok ended with exit code 1; its last line: ERROR: {2}The authtoken is not valid/u);
    await vi.waitFor(() => expect(tools.calls("ngrok").length).toBeGreaterThan(3), WAIT);
    expect(fixture.logged("warn").filter((line) => line.startsWith("the hooks have no public URL"))).toHaveLength(1);
    const said = JSON.stringify([fixture.logger.lines, await statusOf(gateway)]);
    expect(said).not.toContain(secret);
    expect(said).not.toContain("key-of-the-tool");
  });

  it.each([
    ["cloudflared", cloudflaredFailure, /has printed no public URL within 0\.3 s; its last line: failed to request/u],
    [
      "tailscale",
      tailscaleRefusal,
      /its last line: https:\/\/login\.tailscale\.com\/f\/funnel\?node=nAbCdEfGh1CNTRL$/u,
    ],
    ["ngrok", '{"url":"https://not-a-tunnel.example.com","msg":"update available"}', /no public URL within 0\.3 s/u],
    ["ngrok", '\u0000\u001B[31mgarbage\u0007 {"msg":', /its last line: .garbage.? \{"msg":$/u],
  ])("does not take what %s prints about something else for its URL", async (via, output, problem) => {
    tools.addLasting(via, output);
    const gateway = await start({ via }, { toolTimings: { ...FAST, urlMs: 300 } });
    const { exposed: state } = await untilProblem(gateway, problem);
    expect(state?.url).toBeNull();
    await gateway.stop();
    expect(tools.alive(via)).toEqual([]);
  });

  it("reads a tool that prints without end, and finds the URL behind it", async () => {
    tools.add(
      "mine",
      "head -c 50000000 /dev/zero | tr '\\\\0' 'x'; echo; echo https://mine.example.org; exec sleep 600",
    );
    const gateway = await start({ via: "command", command: ["mine"] });
    await untilUrl(gateway, "https://mine.example.org/hooks");
  });

  it("warns of another URL after a restart of the tool, and checks what senders sign by it", async () => {
    tools.add(
      "cloudflared",
      `n=$(wc -l < "$HOME/cloudflared.calls" | tr -d ' '); echo "t INF |  https://round-$n.trycloudflare.com   |"; [ "$n" = 1 ] && { while [ ! -e "$HOME/go" ]; do sleep 0.05; done; exit 3; }; exec sleep 600`,
    );
    const twilio = { presets: ["twilio"], twilio: { secret: "5f1c0a9be47d4c3e8a62d7719b0e4c55" } };
    const gateway = await start({ via: "cloudflared" }, { hooks: twilio });
    await untilUrl(gateway, "https://round-1.trycloudflare.com/hooks");
    fixture.logger.lines.length = 0;
    writeFileSync(`${fixture.folder}/go`, "");
    await untilUrl(gateway, "https://round-2.trycloudflare.com/hooks");
    await vi.waitFor(() => expect(fixture.logged("info")).toContain("configuration applied"), WAIT);
    expect(fixture.logged("warn")).toEqual([
      "the hooks have no public URL; it is tried again",
      "the public URL is another one than before: give it to each sender",
    ]);
    expect((await signedCall(gateway, "https://round-2.trycloudflare.com")).status).toBe(200);
    expect((await signedCall(gateway, "https://round-1.trycloudflare.com")).status).toBe(401);
  });

  it("begins the next time with the URL of the last, and keeps one that is written", async () => {
    tools.addLasting("tailscale", tailscaleOutput("box.tail1"));
    const twilio = { presets: ["twilio"], twilio: { secret: "5f1c0a9be47d4c3e8a62d7719b0e4c55" } };
    const first = await start({ via: "tailscale" }, { hooks: twilio });
    await untilUrl(first, "https://box.tail1.ts.net/hooks");
    await first.stop();
    tools.add("tailscale", "exit 1");
    const second = await start({ via: "tailscale" }, { hooks: twilio });
    await untilProblem(second, /exit code 1/u);
    expect((await signedCall(second, "https://box.tail1.ts.net")).status).toBe(200);
    await second.stop();
    const third = await start({ via: "tailscale" }, { hooks: { ...twilio, publicUrl: "https://own.example.com" } });
    expect((await statusOf(third)).hooksUrl).toBe("https://own.example.com/hooks");
    expect((await signedCall(third, "https://own.example.com")).status).toBe(200);
    expect(fixture.logged("warn").join("\n")).toContain("hooks.publicUrl: is written, so it stays as it is");
  });

  it("says that the port of the listener is taken, and serves all the same", async () => {
    tools.addLasting("tailscale", tailscaleOutput("box.tail1"));
    const taken = Number(new URL((await fixture.start({ env: tools.env })).url).port);
    const other = new GatewayFixture(exposed({ via: "tailscale", port: taken }));
    try {
      const gateway = await other.start({ env: tools.env, toolTimings: FAST });
      await untilProblem(gateway, /^nothing can listen for gateway\.expose: .*in use/u);
      expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
      expect(tools.calls("tailscale")).toEqual([]);
    } finally {
      await other.remove();
    }
  });

  it("ends the tool when it is no longer configured, and asks for tokens that cannot be guessed", async () => {
    tools.addLasting("ngrok", ngrokOutput("ab12"));
    const gateway = await start({ via: "ngrok" });
    await untilUrl(gateway, "https://ab12.ngrok-free.app/hooks");
    fixture.write(exposed({ via: "ngrok" }, { token: "short-token" }));
    expect((await gateway.reload()).applied).toBe(false);
    expect(fixture.logged("error").at(-1)).toContain("hooks.token: has fewer than 24 characters");
    fixture.write(baseConfig);
    await gateway.reload();
    await vi.waitFor(() => expect(tools.alive("ngrok")).toEqual([]), WAIT);
    expect((await statusOf(gateway)).exposed).toBeNull();
  });
});

/** A call as Twilio signs it for that public URL. */
async function signedCall(gateway: EmbeddedGateway, publicUrl: string): Promise<Response> {
  const fields = { MessageSid: `SM${Math.random()}`, Body: "hello" };
  const signed = Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const content = `${publicUrl}/hooks/twilio${signed.flat().join("")}`;
  const signature = createHmac("sha1", "5f1c0a9be47d4c3e8a62d7719b0e4c55").update(content).digest("base64");
  return fetch(`${gateway.url}/hooks/twilio`, {
    method: "POST",
    headers: { "x-twilio-signature": signature, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields),
  });
}
