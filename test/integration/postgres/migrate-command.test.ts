import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MIGRATIONS } from "../../../src/storage/postgres/migrations.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { RecordedProcess } from "../../unit/cli/recorded-process.ts";

describe("reveille migrate", () => {
  let terminal: RecordedProcess;
  let database: TestDatabase;

  beforeEach(async () => {
    terminal = new RecordedProcess();
    database = await createDatabase({ isEmpty: true });
  });
  afterEach(async () => {
    terminal.remove();
    await database.drop();
  });

  const write = (hooks: object): void => {
    mkdirSync(dirname(terminal.configFile), { recursive: true });
    const gateway = { auth: { token: "gateway-token-of-these-tests" } };
    const config = { gateway, hooks: { enabled: true, token: "hook-token-of-these-tests-here", ...hooks } };
    writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
  };

  it("makes the tables of the configured database once, and says what it has applied", async () => {
    write({ store: { url: database.url } });
    expect(await terminal.run("migrate")).toBe(0);
    expect(terminal.out).toBe(
      Object.keys(MIGRATIONS)
        .map((name) => `applied  ${name}\n`)
        .join(""),
    );
    terminal.out = "";
    expect(await terminal.run("migrate")).toBe(0);
    expect(terminal.out).toBe("The tables are those of this version.\n");
    terminal.out = "";
    expect(await terminal.run("migrate", "--json")).toBe(0);
    expect(JSON.parse(terminal.out)).toEqual({ applied: [] });
  });

  it("says what is missing", async () => {
    write({});
    expect(await terminal.run("migrate")).toBe(1);
    expect(terminal.err).toContain("hooks.store is not set, or hooks are off: there are no tables to make.");
    write({ store: { url: Object.assign(new URL(database.url), { pathname: "/nowhere" }).href } });
    expect(await terminal.run("migrate")).toBe(1);
    expect(terminal.err).toMatch(/The database of hooks\.store\.url is not there: .*nowhere/u);
  });
});
