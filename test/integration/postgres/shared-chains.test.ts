/** The events of a chain, at two gateways on one database: they are counted together. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { GITHUB_SECRET, githubHeaders } from "../http/sender-calls.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const POLL = { timeout: 30_000, interval: 200 };
const MARK = /reveille-chain\.[\w.]+/u;

let database: TestDatabase;
let model: ModelEndpoint;
let gateways: readonly [GatewayProcess, GatewayProcess];
/** What was not taken; none should be. */
const refused: unknown[] = [];

beforeEach(async () => {
  database = await createDatabase();
  model = await ModelEndpoint.listen();
  const open = () =>
    new GatewayProcess({
      ...model.keys,
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        chains: { maxDeliveries: 3 },
        mappings: [
          {
            preset: "github",
            secret: GITHUB_SECRET,
            match: { path: "g" },
            messageTemplate: "{{payload.comment.body}}",
            deliver: false,
            wakeMode: "next-heartbeat",
          },
        ],
        store: { url: { env: "DATABASE_URL" }, several: true },
      },
    });
  gateways = [open(), open()];
  for (const gateway of gateways) await gateway.start({ env: { DATABASE_URL: database.url } });
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  model.close();
  await database.drop();
});

/** The state of a comment with that text. */
async function stateOf(gateway: GatewayProcess, text: string): Promise<string> {
  const event = {
    action: "created",
    issue: { number: 1, body: "" },
    comment: { body: text, user: { id: 7 }, author_association: "MEMBER" },
    sender: { login: "ada", id: 7, type: "User" },
  };
  const headers = githubHeaders(JSON.stringify(event), { event: "issue_comment" });
  const { status, body } = await gateway.post("/hooks/g", event, headers);
  if (status >= 300) refused.push({ status, body, log: gateway.log });
  return (await gateway.delivery(String(body["deliveryId"]))).state;
}

it("the chain ends after so many events, at whichever gateway each arrives", async () => {
  const [first, second] = gateways;
  await stateOf(first, "Look.");
  await expect.poll(() => model.requests.length, POLL).toBe(1);
  const [mark] = MARK.exec(String(model.requests[0]!.body.messages.at(-1)!.content))!;
  for (const [at, gateway] of [second, first, first].entries()) {
    expect(await stateOf(gateway, `${at} ${mark}`)).not.toBe("filtered");
  }
  // It has counted one by itself, and two more at the other one.
  let more = 0;
  await expect.poll(() => stateOf(second, `more ${++more} ${mark}`), POLL).toBe("filtered");
  expect(refused).toEqual([]);
  expect(more).toBeLessThan(4);
  expect(await stateOf(first, `last ${mark}`)).toBe("filtered");
});
