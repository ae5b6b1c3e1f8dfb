import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayProcess } from "../gateway-process.ts";
import { GITHUB_SECRET, githubHeaders, pushOf } from "./sender-calls.ts";

/** Half of them at a time are more than any limit of the gateway, and few enough for the limit of open files. */
const SOCKETS = 5_000;
const SLOW_CALL = [
  "POST /hooks/github HTTP/1.1",
  "host: gateway",
  "content-type: application/json",
  "x-github-event: push",
  "x-github-delivery: 1",
  `x-hub-signature-256: sha256=${"0".repeat(64)}`,
  "content-length: 1000",
  "",
  "{",
].join("\r\n");

let gateway: GatewayProcess;
const sockets: Socket[] = [];

beforeEach(async () => {
  gateway = new GatewayProcess({
    hooks: {
      enabled: true,
      token: "hook-token-of-the-integration-tests",
      presets: ["github"],
      github: { secret: GITHUB_SECRET, deliver: false, messageTemplate: "{{ref}}" },
    },
  });
  await gateway.start();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway.close();
});

/** Opens sockets that send the head of a signed call and one byte of its body; resolves when all are connected. */
async function openSlowSockets(addresses: readonly string[]): Promise<void> {
  const port = Number(new URL(gateway.url).port);
  const opened = Array.from({ length: SOCKETS }, (_, at) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: addresses[at % addresses.length]! });
    sockets.push(socket);
    // The gateway may close it whenever it likes.
    socket.on("error", () => {});
    socket.resume();
    return new Promise<void>((resolve) => {
      socket.once("connect", () => {
        socket.write(SLOW_CALL, () => {
          resolve();
        });
      });
      socket.once("close", () => {
        resolve();
      });
    });
  });
  await Promise.all(opened);
}

describe("strangers who send a body slowly to a sender's path", () => {
  it.each([
    ["one address", ["127.0.0.1"]],
    ["200 addresses", Array.from({ length: 200 }, (_, at) => `127.0.1.${at + 1}`)],
  ])("take no place of calls with the hook token: %s", { timeout: 120_000 }, async (_kind, addresses) => {
    await openSlowSockets(addresses);
    const statuses: number[] = [];
    for (let call = 0; call < 100; call += 1) {
      const answer = await gateway.post("/hooks/wake", { text: `call ${call}`, mode: "next-heartbeat" });
      statuses.push(answer.status);
    }
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it("leave places for a sender at another address", { timeout: 120_000 }, async () => {
    await openSlowSockets(["127.0.1.1"]);
    const body = pushOf("main");
    const answer = await fetch(`${gateway.url}/hooks/github`, { method: "POST", headers: githubHeaders(body), body });
    expect(answer.status).toBe(200);
  });
});
