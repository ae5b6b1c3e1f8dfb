/** Gateways of two versions on one database: the version before does not know the latest migration. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { MIGRATIONS } from "../../../src/storage/postgres/migrations.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const POLL = { timeout: 60_000, interval: 200 };
const LATEST = Object.keys(MIGRATIONS).at(-1)!;
/** The table that the latest migration has made. */
const MADE = "commits";
/** Takes the latest migration out of the sources, with the statements that every gateway makes on its table. */
const BEFORE = `
  import { registerHooks } from "node:module";
  const parts = [
    ["/migrations.ts", /^ *${JSON.stringify(LATEST)}: .*$/mu],
    ["/engine/owner-connection.ts", /; INSERT INTO reveille.commits VALUES \\('\\$\\{this.#instance.*\\n.*excluded.at(?=\`)/u],
    ["/engine/owner-connection.ts", /await session.script\\(.\\$\\{FORGET_COMMITS.*\\n.*NOTHING.\\);/u],
  ];
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const found = url.includes("/storage/postgres/") ? parts.filter(([file]) => url.endsWith(file)) : [];
      if (found.length === 0) return loaded;
      let source = String(loaded.source);
      for (const [, part] of found) {
        if (!part.test(source)) throw new Error("The version before cannot be made of " + url);
        source = source.replace(part, "");
      }
      return { ...loaded, source };
    },
  });`;

let database: TestDatabase;
let model: ModelEndpoint;
let gateways: GatewayProcess[];

beforeEach(async () => {
  database = await createDatabase();
  await runSql(database.url, `DROP TABLE reveille.${MADE}`);
  await runSql(database.url, `DELETE FROM reveille.migrations WHERE name = '${LATEST}'`);
  model = await ModelEndpoint.listen();
  model.reply = "NO_REPLY";
  gateways = [];
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  model.close();
  await database.drop();
});

async function start(version: "before" | "latest"): Promise<GatewayProcess> {
  const gateway = new GatewayProcess({
    ...model.keys,
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      store: { url: { env: "DATABASE_URL" }, several: true },
    },
  });
  gateways.push(gateway);
  const nodeArgs = version === "latest" ? [] : ["--import", `data:text/javascript,${encodeURIComponent(BEFORE)}`];
  await gateway.start({ nodeArgs, env: { DATABASE_URL: database.url } });
  return gateway;
}

const call = (gateway: GatewayProcess, number: number) =>
  gateway.post("/hooks/agent", {
    message: `call ${number}.`,
    sessionKey: `hook:${number % 3}`,
    wakeMode: "next-heartbeat",
    deliver: false,
  });

it("an update with both versions at work refuses no call, and each is carried out once and in order", async () => {
  const first = await start("before");
  const second = await start("before");
  const end = new AbortController();
  let chosen = first;
  let number = 0;
  const calls = (async () => {
    while (!end.signal.aborted) {
      expect((await call(chosen, number)).status).toBe(202);
      number++;
      await sleep(20);
    }
  })();
  await sleep(200);
  expect(await migrate(database.url)).toEqual([LATEST]);
  const third = await start("latest");
  chosen = third;
  await sleep(200);
  // The one that carries out the runs goes: another old one, or the new one, goes on.
  await first.end("SIGTERM");
  await sleep(200);
  await second.end("SIGTERM");
  await start("latest");
  await sleep(200);
  end.abort();
  await calls;
  await third.settled();
  // A run that was cut off at the end of its gateway is asked for again, with a note.
  const told = [...new Set(model.prompts.map((prompt) => Number(/call (\d+)\./u.exec(prompt)?.[1])))];
  expect(told.toSorted((one, other) => one - other)).toEqual(Array.from({ length: number }, (_, at) => at));
  for (const lane of [0, 1, 2]) {
    const ofLane = told.filter((each) => each % 3 === lane);
    expect(ofLane).toEqual(ofLane.toSorted((one, other) => one - other));
  }
});

it("a gateway of the version before goes on after it has lost its connection, and is not started again", async () => {
  const gateway = await start("before");
  await migrate(database.url);
  await runSql(
    database.url,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
  );
  await expect.poll(async () => (await call(gateway, 0)).status, POLL).toBe(202);
  await gateway.settled();
  await gateway.end("SIGTERM");
  await expect(start("before")).rejects.toThrow(`a later version (${LATEST})`);
});
