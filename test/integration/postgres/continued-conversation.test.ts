/** What was said is there wherever the runs go on: another gateway has the sessions, the events and the outbox. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

interface Messages {
  readonly messages: readonly { readonly text: string; readonly state?: string }[];
}

const WAIT = { timeout: 15_000 };
const BEAT = "4s";

describe("the sessions of several gateways", () => {
  let database: TestDatabase;
  let model: ModelEndpoint;
  let gateways: GatewayProcess[];

  /** Each asks for a model of its own name, so that a request tells which of them has made it. */
  async function open(name: string, every = "0m"): Promise<GatewayProcess> {
    const diary = { match: { path: "diary" }, sessionKey: "hook:diary", sessionMode: "persistent" };
    const gateway = new GatewayProcess({
      agents: { defaults: { model: `test/${name}`, heartbeat: { every } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        store: { url: { env: "DATABASE_URL" }, several: true },
        mappings: [{ ...diary, messageTemplate: "{{text}}", wakeMode: "next-heartbeat" }],
      },
    });
    gateways.push(gateway);
    await gateway.start({ env: { DATABASE_URL: database.url } });
    return gateway;
  }

  const leads = (gateway: GatewayProcess) => gateway.log.includes("this gateway carries out the runs now");
  const askedBy = (name: string) => model.requests.filter(({ body }) => body.model === name);

  beforeEach(async () => {
    database = await createDatabase();
    model = await ModelEndpoint.listen();
    gateways = [];
  });
  afterEach(async () => {
    for (const gateway of gateways) {
      gateway.freeze("SIGCONT");
      await gateway.close();
    }
    model.close();
    await database.drop();
  });

  /** What the model was given in the run of a call, in order, without the words around it. */
  async function say(gateway: GatewayProcess, text: string, reply: string): Promise<string[]> {
    model.reply = reply;
    expect((await gateway.post("/hooks/diary", { text })).status).toBe(202);
    await gateway.settled();
    const asked = model.requests.findLast(({ body }) => String(body.messages.at(-1)?.content).includes(text));
    return asked!.body.messages.map(({ role, content }) => {
      const said = ["apple", "pear", "plum"].find((word) => String(content).includes(word));
      return `${role}: ${said ?? String(content)}`;
    });
  }

  it("continue a persistent conversation where a SIGKILL has ended its gateway, at the next one with its transcript", async () => {
    const first = await open("first");
    const second = await open("second");
    expect(await say(first, "This is an apple.", "I have read it.")).toEqual(["user: apple"]);
    // The first one carries it out.
    expect(await say(second, "This is a pear.", "That as well.")).toEqual([
      "user: apple",
      "assistant: I have read it.",
      "user: pear",
    ]);
    await first.end("SIGKILL");
    expect(await say(second, "This is a plum.", "All of it.")).toEqual([
      "user: apple",
      "assistant: I have read it.",
      "user: pear",
      "assistant: That as well.",
      "user: plum",
    ]);
    expect(askedBy("second")).toHaveLength(1);
    const { messages } = await second.api<Messages>("/sessions/hook%3Adiary/messages");
    expect(messages).toHaveLength(6);
    const { messages: sent } = await second.api<Messages>("/outbox");
    expect(sent.map(({ text, state }) => [text, state])).toEqual([
      ["All of it.", "sent"],
      ["That as well.", "sent"],
      ["I have read it.", "sent"],
    ]);
  }, 120_000);

  it("keep the events of the main session and a turn that was asked for, and the next gateway takes it", async () => {
    const first = await open("first");
    const second = await open("second");
    for (const [gateway, text] of [
      [first, "At the first."],
      [second, "At the second."],
    ] as const) {
      expect((await gateway.post("/hooks/wake", { text, mode: "next-heartbeat" })).status).toBe(200);
      await gateway.settled();
    }
    const events = async (gateway: GatewayProcess) =>
      (await gateway.api<{ events: readonly object[] }>("/sessions/main/events")).events.length;
    await expect.poll(() => events(second)).toBe(2);
    await second.setRoute("main", { channel: "console", to: "owner" });
    // The turn is asked for, and does not end before the gateway does.
    const release = model.holdBack();
    await first.post("/hooks/wake", { text: "Now.", mode: "now" });
    await expect.poll(() => askedBy("first").length, WAIT).toBe(1);
    await first.end("SIGKILL");
    model.reply = "I have seen all three.";
    release();
    await expect.poll(() => askedBy("second").length, { timeout: 30_000 }).toBe(1);
    const prompt = String(askedBy("second")[0]!.body.messages.at(-1)?.content);
    for (const text of ["At the first.", "At the second.", "Now."]) expect(prompt).toContain(text);
    const sent = async () => (await second.api<Messages>("/outbox")).messages.map(({ text, state }) => [text, state]);
    await expect.poll(async () => (await sent())[0], WAIT).toEqual(["I have seen all three.", "sent"]);
    expect(await events(second)).toBe(0);
  }, 120_000);

  it("have one heartbeat: of the gateway with the runs, and of no other, also when one was frozen", async () => {
    model.reply = "HEARTBEAT_OK";
    const first = await open("first", BEAT);
    const second = await open("second", BEAT);
    await expect.poll(() => askedBy("first").length, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
    expect(askedBy("second")).toEqual([]);
    const turns = async () => (await second.api<Messages>("/sessions/main/messages")).messages.length;
    await expect.poll(turns, WAIT).toBe(askedBy("first").length * 2);
    first.freeze("SIGSTOP");
    await expect.poll(() => askedBy("second").length, { timeout: 30_000 }).toBeGreaterThanOrEqual(1);
    const ofFirst = askedBy("first").length;
    // Its timer has long fired when it goes on.
    first.freeze("SIGCONT");
    await expect.poll(() => first.log.includes("this gateway writes nothing any more"), { timeout: 30_000 }).toBe(true);
    const ofSecond = askedBy("second").length;
    await expect.poll(() => askedBy("second").length, { timeout: 30_000 }).toBeGreaterThan(ofSecond);
    expect(askedBy("first")).toHaveLength(ofFirst);
    expect(leads(second)).toBe(true);
  }, 180_000);
});
