import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { EventSubscription } from "../../../../../src/hosts/embedded/subscriptions/events/event-subscription.ts";
import type { EventRecord } from "../../../../../src/hosts/embedded/subscriptions/events/event-records.ts";
import { recordingLogger } from "../server/recording-logger.ts";

type Params = Readonly<Record<string, unknown>>;

/** An MCP server that answers each method as the functions say. */
async function serve(methods: Readonly<Record<string, (params: Params) => object>>): Promise<string> {
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number;
        method: string;
        params: Params;
      };
      const result = methods[method]!(params);
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

it("is made again at a public URL that came while the server was being asked", async () => {
  let publicUrl = "https://before.example.com/hooks/incidents";
  const asked: unknown[] = [];
  const url = await serve({
    "server/discover": () => ({ capabilities: { events: {} } }),
    "events/list": () => ({ events: [{ name: "incident.created", delivery: ["webhook"] }] }),
    "events/subscribe": ({ delivery }) => {
      asked.push((delivery as { url: unknown }).url);
      publicUrl = "https://after.example.com/hooks/incidents";
      subscription.lookAgain();
      return { id: "sub_1", refreshBefore: null };
    },
    "events/unsubscribe": () => ({}),
  });
  const records = new Map<string, EventRecord>();
  const outages = { failed: async () => {}, works: async () => {} };
  const subscription = new EventSubscription({
    subscription: {
      name: "incidents",
      url,
      token: undefined,
      event: "incident.created",
      arguments: {},
      mapping: "incidents",
      path: "incidents",
      secret: "whsec_c2VjcmV0",
    },
    records: {
      get: (name: string) => records.get(name),
      save: (record: EventRecord) => records.set(record.name, record),
    } as never,
    callback: () => publicUrl,
    deliver: async () => 200,
    outages: () => outages,
    clock: { now: () => Date.now() },
    logger: recordingLogger(),
    timings: { firstRetryMs: 10, lastRetryMs: 10, leastMs: 10, pendingMs: 10 },
  });
  subscription.start();
  onTestFinished(() => subscription.stop());
  await vi.waitFor(() => expect(asked).toContain("https://after.example.com/hooks/incidents"), 10_000);
});
