import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openClawLogger } from "../../../../src/hosts/openclaw/logger.ts";
import { probeHealth } from "../../../../src/hosts/openclaw/health-probe.ts";
import { makeCertificate } from "../../auth/keys/make-certificate.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

let openClaw: FakeOpenClaw;
const servers: Server[] = [];

beforeEach(() => {
  openClaw = new FakeOpenClaw();
});

afterEach(() => {
  openClaw[Symbol.dispose]();
  for (const server of servers.splice(0)) server.close();
});

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function probe(gateway: object, signal = new AbortController().signal): Promise<string | undefined> {
  const logger = openClawLogger(openClaw.logger);
  return probeHealth({ config: { gateway }, path: "/x", logger, env: {}, pauseMs: 1, signal });
}

it("says why its own address does not answer", async () => {
  const gateway = { port: 9 };
  expect(await probe(gateway)).toMatch(
    /^Reveille cannot be reached on its own address: http:\/\/127\.0\.0\.1:9\/x\/wake is not/,
  );
  expect(await probe(gateway, AbortSignal.abort())).toBeUndefined();
});

it("says when somebody else answers at its address", async () => {
  const port = await portOf(createServer((_req, res) => void res.end("x")));
  expect(await probe({ port })).toContain(`http://127.0.0.1:${port}/x/wake is answered 200 by another server`);
});

it("takes a gateway for reached whose certificate the host has signed itself", async () => {
  const { pem, privateKey } = makeCertificate({ commonName: "openclaw-gateway" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" });
  const paths = new Set<string | undefined>();
  const server = createTlsServer({ cert: pem, key }, (req, res) => {
    paths.add(req.url);
    res.writeHead(405).end();
  });
  const port = await portOf(server);
  expect(await probe({ port, tls: { enabled: true } })).toBeUndefined();
  // One whose answer took too long is asked for again.
  expect(paths).toEqual(new Set(["/x/wake"]));
  expect(openClaw.log).toEqual([`Reveille answers at https://127.0.0.1:${port}/x/wake`]);
});
