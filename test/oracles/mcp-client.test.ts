import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { baseConfig, callHook, GatewayFixture } from "../unit/hosts/embedded/gateway/fixture.ts";

const READ = "the-token-of-who-looks-on-4711";
const WRITE = "the-token-of-who-also-acts-4711";

async function startGateway() {
  const fixture = new GatewayFixture({
    ...baseConfig,
    gateway: { ...baseConfig.gateway, mcp: { read: READ, write: WRITE } },
    hooks: {
      ...baseConfig.hooks,
      mappings: [{ id: "large", match: { path: "large" }, when: "payload.n > 10.0", messageTemplate: "Large {{n}}" }],
    },
  });
  onTestFinished(() => fixture.remove());
  return fixture.start();
}

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

it("the client of the official SDK lists, explains and pauses, and with the token for reading it cannot", async () => {
  const gateway = await startGateway();
  const answer = await callHook(gateway, "/hooks/large", { n: 1 });
  const { deliveryId } = (await answer.json()) as { deliveryId: string };
  const reader = await connect(gateway.url, READ);
  expect(reader.getServerVersion()).toMatchObject({ name: "reveille" });
  const { tools } = await reader.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("pause_hook");
  const text = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    return `${isError === true ? "error: " : ""}${(content as { text: string }[])[0]!.text}`;
  };
  expect(await text(reader, "list_deliveries", { state: "filtered" })).toContain(deliveryId);
  expect(await text(reader, "explain_delivery", { id: deliveryId })).toContain("payload.n > 10.0");
  const refused = await text(reader, "pause_hook", { hook: "large" }).catch(
    (error: unknown) => `error: ${String(error)}`,
  );
  expect(refused).toMatch(/^error: /u);
  const writer = await connect(gateway.url, WRITE);
  expect(await text(writer, "pause_hook", { hook: "large" })).toContain('"changed": true');
}, 180_000);
