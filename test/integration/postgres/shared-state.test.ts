/** The embedded gateway's state where several gateways write it, and where one has lost its place. */
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Approvals } from "../../../src/hosts/embedded/agents/approvals.ts";
import { PostgresState } from "../../../src/hosts/embedded/state/postgres-state.ts";
import { PostgresDatabase } from "../../../src/storage/postgres/engine/database.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { DatabaseProxy } from "../../fixtures/postgres/proxy.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const logger = pino({ level: "silent" });
const clock = { now: () => Date.now() };
const MAIN = "agent:main:main";
const WAIT = { timeout: 30_000 };

let database: TestDatabase;
let opened: PostgresDatabase[];

beforeEach(async () => {
  database = await createDatabase();
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await database.drop();
});

async function open(url = database.url): Promise<PostgresDatabase> {
  const one = await PostgresDatabase.open({ url, logger, isBeside: true });
  opened.push(one);
  return one;
}

const enqueue = (state: PostgresState, key: string) =>
  state.write("enqueue", { sessionKey: MAIN, key, text: `text of ${key}`, at: 1 });
const stored = async () =>
  (await runSql(database.url, "SELECT key FROM reveille.embedded_event ORDER BY id")).map(
    (row) => (row as { readonly key: string }).key,
  );

describe("state that several gateways write", () => {
  it("counts what waits in a session correctly when they write to it at once", async () => {
    const states = [new PostgresState(await open()), new PostgresState(await open())];
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, number) => enqueue(states[number % 2]!, `k${number >> 1}`)),
    );
    expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(100);
    const { sessions } = await states[0]!.read("list", { limit: 9 });
    expect(sessions).toMatchObject([{ key: MAIN, pendingEvents: 100 }]);
  });

  it("is not changed by a gateway that was cut off while another one took its place", async () => {
    await using proxy = await DatabaseProxy.listen(database.url);
    const old = await open(proxy.url);
    const next = await open();
    const [oldState, nextState] = [new PostgresState(old), new PostgresState(next)];
    await enqueue(oldState, "before");
    proxy.freeze();
    const during = enqueue(oldState, "while it was cut off").catch((error: unknown) => error);
    await expect.poll(() => next.writer.lead(), WAIT).toBe(true);
    await enqueue(nextState, "of the next one");
    proxy.thaw();
    expect(await during).toMatchObject({ code: "UNAVAILABLE" });
    await old.writer.replaced;
    await expect(enqueue(oldState, "after")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(oldState.confirmPlace()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await stored()).toEqual(["before", "of the next one"]);
    await nextState.confirmPlace();
  }, 60_000);

  it.each(["approved", "denied"] as const)(
    "gives a run the owner's answer from another gateway: %s",
    async (answer) => {
      const queue = (): Promise<void> => Promise.resolve();
      const asking = new Approvals({ state: new PostgresState(await open()), clock, logger, queue });
      const other = new Approvals({ state: new PostgresState(await open()), clock, logger, queue });
      const question = { agentId: "main", sessionKey: MAIN, runId: "run_1-a1", title: "delete", input: "all" };
      const asked = asking.ask(question, 60_000, new AbortController().signal);
      await expect.poll(() => other.list()).toMatchObject([{ title: "delete" }]);
      const [{ id } = { id: "" }] = await other.list();
      expect(await other.answer(id, answer)).toMatchObject({ state: answer });
      expect(await asked).toBe(answer);
      // An approval holds once, wherever it is used.
      if (answer === "approved") expect((await new PostgresState(opened[1]!).read("approval", id))?.state).toBe("used");
    },
  );

  it("has the turns and the messages that another gateway has left taken up by the one with the runs", async () => {
    const model = await ModelEndpoint.listen();
    model.reply = "HEARTBEAT_OK";
    const gateway = new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: { enabled: true, token: HOOK_TOKEN, store: { url: database.url, several: true } },
    });
    try {
      await gateway.start();
      const other = new PostgresState(await open());
      await enqueue(other, "left by a plugin");
      await other.write("requestTurn", { sessionKey: MAIN, agentId: "main", reason: "plugin", at: 1 });
      const message = { channel: "console", to: "owner", text: "Left as well.", idempotencyKey: "left" };
      await other.write("recordMessage", { message, state: "pending", at: 1 });
      await expect.poll(() => model.prompts.join(""), WAIT).toContain("text of left by a plugin");
      await expect.poll(() => other.read("wasSent", "console", "left"), WAIT).toBe(true);
      await expect.poll(() => other.read("requestedTurns"), WAIT).toEqual([]);
      expect(model.requests).toHaveLength(1);
    } finally {
      await gateway.close();
      model.close();
    }
  }, 60_000);
});
