import type { Client, Pool, PoolConfig } from "pg";
import { reasonLine } from "../../../core/reason-of.ts";
import { StoreError } from "../../delivery-store.ts";
import { sqlStateOf } from "./errors.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** Connections that read. */
const MAX_READERS = 4;
/** What is sent has an answer by then, or its connection is dead: the server reads and writes a bounded number of rows. */
export const ANSWER_TIMEOUT_MS = 10_000;
const INT8 = 20;

/** Opens one connection; rejects with a {@link StoreError} that says what to correct. */
export async function connect(
  url: string,
  { purpose, answerTimeoutMs }: { readonly purpose: string; readonly answerTimeoutMs?: number },
): Promise<Client> {
  const { default: pg } = await import("pg");
  let client: Client;
  try {
    client = new pg.Client({ ...(await connectionConfig(url, purpose)), query_timeout: answerTimeoutMs });
  } catch (error) {
    throw new StoreError("UNAVAILABLE", unusableUrl(error), { cause: error });
  }
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    throw new StoreError("UNAVAILABLE", describeConnectError(error), { cause: error });
  }
  return client;
}

/** Connections for reading; each is opened when it is first needed. */
export async function openPool(url: string): Promise<Pool> {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    ...(await connectionConfig(url, "reader")),
    max: MAX_READERS,
    query_timeout: ANSWER_TIMEOUT_MS,
    allowExitOnIdle: true,
  });
  pool.on("error", () => {});
  // One that breaks while it reads says so to the reader; unheard, it would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function connectionConfig(url: string, purpose: string): Promise<PoolConfig> {
  const { default: pg } = await import("pg");
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  return {
    connectionString: url,
    application_name: `reveille ${purpose}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types,
  };
}

function unusableUrl(error: unknown): string {
  return `hooks.store.url is not the URL of a PostgreSQL database, such as postgresql://user:password@host/name: ${reasonLine(error)}`;
}

/** The URL itself never appears: it has a password. */
function describeConnectError(error: unknown): string {
  switch (sqlStateOf(error)) {
    case "28P01":
    case "28000":
      return `PostgreSQL refuses the user of hooks.store.url: ${reasonLine(error)}`;
    case "3D000":
      return `The database of hooks.store.url is not there: ${reasonLine(error)}. Create it with createdb.`;
    default:
      return `PostgreSQL cannot be reached: ${reasonLine(error)}`;
  }
}
