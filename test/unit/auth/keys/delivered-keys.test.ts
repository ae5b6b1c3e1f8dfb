import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, chmodSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openDeliveredKeys, readDeliveredKeys } from "../../../../src/auth/keys/delivered-keys.ts";
import type { SenderKeys } from "../../../../src/storage/shared-store.ts";
import { keepingLogger, testClock } from "./key-server.ts";

const KEY = "0123456789abcdef";
const HOUR_MS = 3_600_000;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "delivered-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openedKeys({ folder = newFolder(), windowMs }: { folder?: string; windowMs?: number } = {}) {
  const file = join(folder, "delivered-keys.json");
  const clock = testClock();
  const logger = keepingLogger();
  const options = { file, clock, logger, ...(windowMs === undefined ? {} : { windowMs }) };
  return { keys: await openDeliveredKeys(options), file, folder, clock, logger };
}

/** The place that the gateways on a store share; `stored` is what it has. */
function sharedPlace(stored: Map<string, string>): SenderKeys {
  return {
    read: async () => new Map(stored),
    async add(route, key) {
      const isFirst = !stored.has(route);
      if (isFirst) stored.set(route, key);
      return isFirst;
    },
    async remove(route) {
      stored.delete(route);
    },
  };
}

const refused = (route: string, reason: string) => ["warn", { route, reason }, "a delivered key was not accepted"];

describe("accepting", () => {
  test("the first key of a route is kept, and there is none before", async () => {
    const { keys, logger } = await openedKeys();
    expect(keys.get("asana")).toBeUndefined();
    expect(keys.routes()).toEqual([]);
    expect(await keys.accept("asana", KEY)).toBe(true);
    expect(keys.get("asana")).toBe(KEY);
    expect(keys.get("notion")).toBeUndefined();
    expect(keys.routes()).toEqual(["asana"]);
    expect(logger.lines).toEqual([["info", { route: "asana" }, "a delivered key was accepted"]]);
  });

  test("it is there after a restart", async () => {
    const { keys, folder } = await openedKeys();
    await keys.accept("asana", KEY);
    await keys.accept("notion", `${KEY}2`);
    const { keys: again } = await openedKeys({ folder });
    expect(again.get("asana")).toBe(KEY);
    expect(again.get("notion")).toBe(`${KEY}2`);
    expect(again.routes()).toEqual(["asana", "notion"]);
  });

  test("a second key of a route is refused, also after a restart", async () => {
    const { keys, folder, logger } = await openedKeys();
    await keys.accept("asana", KEY);
    expect(await keys.accept("asana", "another-key")).toBe(false);
    expect(await keys.accept("asana", KEY)).toBe(false);
    expect(keys.get("asana")).toBe(KEY);
    // Anybody can bring that about, so it is logged once.
    expect(logger.lines.slice(1)).toEqual([refused("asana", "it has one already")]);
    const { keys: again } = await openedKeys({ folder });
    expect(await again.accept("asana", "another-key")).toBe(false);
    expect(again.get("asana")).toBe(KEY);
  });

  test("of several at the same time only the first is kept", async () => {
    const { keys, file } = await openedKeys();
    const accepted = ["key-number-1", "key-number-2", "key-number-3"].map((key) => keys.accept("asana", key));
    expect(await Promise.all(accepted)).toEqual([true, false, false]);
    expect(keys.get("asana")).toBe("key-number-1");
    expect(await readDeliveredKeys(file)).toEqual(new Map([["asana", "key-number-1"]]));
  });

  test("keys of several routes at the same time are all kept", async () => {
    const { keys, file } = await openedKeys();
    const routes = Array.from({ length: 20 }, (_, at) => `route-${at}`);
    expect(await Promise.all(routes.map((route) => keys.accept(route, `key-of-${route}`)))).toEqual(
      routes.map(() => true),
    );
    expect(keys.routes()).toEqual(routes);
    expect([...(await readDeliveredKeys(file)).keys()]).toEqual(routes);
  });

  test("a key is known only once it is on disk", async () => {
    const { keys } = await openedKeys();
    const accepted = keys.accept("asana", KEY);
    expect(keys.get("asana")).toBeUndefined();
    await accepted;
    expect(keys.get("asana")).toBe(KEY);
  });

  test("an hour after opening no key is accepted any more", async () => {
    const { keys, clock, logger } = await openedKeys();
    clock.nowMs += HOUR_MS - 1;
    expect(await keys.accept("asana", KEY)).toBe(true);
    clock.nowMs += 1;
    expect(await keys.accept("notion", KEY)).toBe(false);
    expect(keys.get("notion")).toBeUndefined();
    expect(keys.get("asana")).toBe(KEY);
    expect(logger.lines.at(-1)).toEqual(
      refused("notion", "the time for it is over; restart the gateway to allow it again"),
    );
  });

  test("the window can be set", async () => {
    const { keys, clock } = await openedKeys({ windowMs: 1000 });
    clock.nowMs += 999;
    expect(await keys.accept("asana", KEY)).toBe(true);
    clock.nowMs += 1;
    expect(await keys.accept("notion", KEY)).toBe(false);
  });

  test("a window of 0 accepts nothing", async () => {
    const { keys } = await openedKeys({ windowMs: 0 });
    expect(await keys.accept("asana", KEY)).toBe(false);
  });

  test.each([
    ["7 characters", "1234567"],
    ["1,025 characters", "k".repeat(1025)],
    ["none", ""],
    ["a blank", "0123 4567"],
    ["a line's end", "01234567\n"],
    ["a control character", "0123\u00004567"],
    ["DEL", "01234567\u007f"],
    ["letters beyond ASCII", "schlüssel"],
  ])("a key of %s is refused", async (_what, key) => {
    const { keys, logger } = await openedKeys();
    expect(await keys.accept("asana", key)).toBe(false);
    expect(logger.lines).toEqual([refused("asana", "it is not of 8 to 1024 visible characters")]);
    expect(await keys.accept("asana", KEY)).toBe(true);
  });

  test.each(["12345678", "k".repeat(1024), "!~!~!~!~"])(
    "a key of 8 to 1,024 visible characters is kept (%#)",
    async (key) => {
      const { keys } = await openedKeys();
      expect(await keys.accept("asana", key)).toBe(true);
      expect(keys.get("asana")).toBe(key);
    },
  );

  test("1,000 routes can have keys, counting the ones being fetched", async () => {
    const folder = newFolder();
    const routes = Array.from({ length: 998 }, (_, at) => [`route-${at}`, KEY]);
    writeFileSync(
      join(folder, "delivered-keys.json"),
      JSON.stringify({ version: 1, keys: Object.fromEntries(routes) }),
      { mode: 0o600 },
    );
    const { keys, logger } = await openedKeys({ folder });
    const accepted = ["a", "b", "c"].map((route) => keys.accept(route, KEY));
    expect(await Promise.all(accepted)).toEqual([true, true, false]);
    expect(await keys.accept("d", KEY)).toBe(false);
    expect(logger.lines.at(-1)).toEqual(refused("d", "there are 1000 keys already"));
    expect(await keys.forget("a")).toBe(true);
    expect(await keys.accept("d", KEY)).toBe(true);
  });

  test("any name of a route is only a name", async () => {
    const { keys, folder } = await openedKeys();
    expect(keys.get("toString")).toBeUndefined();
    for (const route of ["__proto__", "constructor", "toString", "", "a/b"]) {
      expect(await keys.accept(route, `the-key-of-${route}`)).toBe(true);
    }
    const { keys: again } = await openedKeys({ folder });
    expect(again.get("__proto__")).toBe("the-key-of-__proto__");
    expect(again.get("constructor")).toBe("the-key-of-constructor");
    expect(again.get("hasOwnProperty")).toBeUndefined();
    expect(again.routes()).toEqual(["__proto__", "constructor", "toString", "", "a/b"]);
  });

  test("a key is never logged", async () => {
    const { keys, logger } = await openedKeys({ windowMs: 1000 });
    await keys.accept("asana", "secret-key-1");
    await keys.accept("asana", "secret-key-2");
    await keys.accept("notion", "secret key 3");
    await keys.forget("asana");
    expect(logger.lines.length).toBe(4);
    expect(JSON.stringify(logger.lines)).not.toMatch(/secret/);
  });
});

describe("forgetting", () => {
  test("the key of a route goes, also from disk, and another one can be delivered", async () => {
    const { keys, file, logger } = await openedKeys();
    await keys.accept("asana", KEY);
    await keys.accept("notion", KEY);
    expect(await keys.forget("asana")).toBe(true);
    expect(logger.lines.at(-1)).toEqual(["info", { route: "asana" }, "a delivered key was forgotten"]);
    expect(keys.get("asana")).toBeUndefined();
    expect(await readDeliveredKeys(file)).toEqual(new Map([["notion", KEY]]));
    expect(await keys.accept("asana", "another-key")).toBe(true);
    expect(keys.get("asana")).toBe("another-key");
  });

  test("a route without a key has nothing to forget", async () => {
    const { keys, file } = await openedKeys();
    expect(await keys.forget("asana")).toBe(false);
    expect(() => statSync(file)).toThrow("ENOENT");
  });
});

describe("the file", () => {
  test("only its owner can read it, and nothing else is left beside it", async () => {
    const { keys, file, folder } = await openedKeys();
    await keys.accept("asana", KEY);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["delivered-keys.json"]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ version: 1, keys: { asana: KEY } });
    expect(readFileSync(file, "utf8")).toMatch(/\n {2}"keys"[^]*\}\n$/);
  });

  test("opening does not create it", async () => {
    const { folder } = await openedKeys();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("what a crash left of an earlier write does not matter", async () => {
    const { keys, file, folder } = await openedKeys();
    writeFileSync(`${file}.tmp`, "half a fi", { mode: 0o644 });
    await keys.accept("asana", KEY);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["delivered-keys.json"]);
  });

  test("one that others can read is closed to them, with a warning", async () => {
    const { keys, file, folder, logger } = await openedKeys();
    await keys.accept("asana", KEY);
    expect((await openedKeys({ folder })).logger.lines).toEqual([]);
    chmodSync(file, 0o640);
    const again = await openedKeys({ folder });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(again.keys.get("asana")).toBe(KEY);
    expect(again.logger.lines).toEqual([
      ["warn", { file }, "others could read the file of delivered keys; now only its owner can"],
    ]);
    expect(logger.lines.length).toBe(1);
  });

  test("a key that cannot be written is not accepted, and the same one can be delivered again", async () => {
    const folder = join(newFolder(), "state");
    const { keys } = await openedKeys({ folder });
    await expect(keys.accept("asana", KEY)).rejects.toThrow("ENOENT");
    expect(keys.get("asana")).toBeUndefined();
    mkdirSync(folder);
    expect(await keys.accept("asana", KEY)).toBe(true);
    rmSync(folder, { recursive: true });
    await expect(keys.forget("asana")).rejects.toThrow("ENOENT");
    expect(keys.get("asana")).toBe(KEY);
  });

  test.each([
    ["nothing", ""],
    ["half a file", '{"version":1,"keys":{"asana":"secret-k'],
    ["null", "null"],
    ["a list", "[]"],
    ["a text", '"secret-key"'],
    ["another version", '{"version":2,"keys":{}}'],
    ["no version", '{"keys":{}}'],
    ["no keys", '{"version":1}'],
    ["keys that are null", '{"version":1,"keys":null}'],
    ["a list of keys", '{"version":1,"keys":["secret-key"]}'],
    ["a key that is a number", '{"version":1,"keys":{"a":"secret-key","b":12345678}}'],
    ["a key that is too short", '{"version":1,"keys":{"a":"secret"}}'],
    ["a key that is too long", `{"version":1,"keys":{"a":"${"k".repeat(1025)}"}}`],
    ["more than 8 MiB", '{"version":1,"keys":{}}'.padEnd(8_388_609)],
  ])("%s is a damaged file: the error names it and says what to do", async (_what, text) => {
    const folder = newFolder();
    const file = join(folder, "delivered-keys.json");
    writeFileSync(file, text);
    const error = new Error(
      `${file} is damaged: it is not a list of delivered keys. Put back a good copy of it, or remove it and let the senders deliver their keys again.`,
    );
    await expect(openedKeys({ folder })).rejects.toThrow(error);
    const thrown = await readDeliveredKeys(file).catch((failure: unknown) => failure);
    expect(thrown).toEqual(error);
    expect((thrown as Error).cause).toBeUndefined();
  });

  test("a file of 8 MiB is read", async () => {
    const file = join(newFolder(), "delivered-keys.json");
    writeFileSync(file, '{"version":1,"keys":{"a":"key-of-a"}}'.padEnd(8_388_608));
    expect(await readDeliveredKeys(file)).toEqual(new Map([["a", "key-of-a"]]));
  });

  test("without a file there are no keys, and what is no file is an error", async () => {
    const folder = newFolder();
    expect(await readDeliveredKeys(join(folder, "none.json"))).toEqual(new Map());
    await expect(readDeliveredKeys(folder)).rejects.toThrow("EISDIR");
    writeFileSync(join(folder, "file"), "");
    await expect(readDeliveredKeys(join(folder, "file", "none.json"))).rejects.toThrow("ENOTDIR");
  });

  test("whatever was accepted is read back as it was", async () => {
    const route = fc.string({ minLength: 1, maxLength: 40, unit: "binary" });
    const key = fc.string({
      minLength: 8,
      maxLength: 64,
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(route, key), { selector: ([name]) => name, maxLength: 5 }),
        async (all) => {
          const folder = mkdtempSync(join(tmpdir(), "delivered-keys-"));
          try {
            const { keys, file } = await openedKeys({ folder });
            for (const [name, value] of all) expect(await keys.accept(name, value)).toBe(true);
            expect(await readDeliveredKeys(file)).toEqual(new Map(all));
          } finally {
            rmSync(folder, { recursive: true });
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("sharing with other gateways", () => {
  test("keys of the file move to the shared place, where a route keeps the key that it has", async () => {
    const { keys, file, folder } = await openedKeys();
    await keys.accept("asana", KEY);
    await keys.accept("notion", `${KEY}2`);
    const stored = new Map([["asana", "of-another-gateway"]]);
    await keys.share(sharedPlace(stored));
    expect([...stored]).toEqual([
      ["asana", "of-another-gateway"],
      ["notion", `${KEY}2`],
    ]);
    expect([keys.get("asana"), keys.get("notion")]).toEqual(["of-another-gateway", `${KEY}2`]);
    // One that is forgotten there does not come back with the next start.
    expect(await readDeliveredKeys(file)).toEqual(new Map());
    const { keys: again } = await openedKeys({ folder });
    expect(again.routes()).toEqual([]);
  });

  test("writes no file when there is nothing to move", async () => {
    const { keys, folder } = await openedKeys();
    await keys.share(sharedPlace(new Map()));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a refresh takes up what others have accepted and forgotten, and leaves what stays", async () => {
    const { keys } = await openedKeys();
    const stored = new Map([
      ["asana", KEY],
      ["notion", KEY],
    ]);
    await keys.share(sharedPlace(stored));
    stored.delete("asana");
    stored.set("xero", `${KEY}3`);
    expect(keys.routes()).toEqual(["asana", "notion"]);
    await keys.refresh();
    expect(keys.routes()).toEqual(["notion", "xero"]);
    expect(keys.get("xero")).toBe(`${KEY}3`);
  });

  test("a key that another gateway has accepted first is the key of the route", async () => {
    const { keys, logger } = await openedKeys();
    const stored = new Map<string, string>();
    await keys.share(sharedPlace(stored));
    stored.set("asana", "of-another-gateway");
    expect(await keys.accept("asana", KEY)).toBe(false);
    expect(keys.get("asana")).toBe("of-another-gateway");
    expect(logger.lines).toEqual([]);
    expect(await keys.accept("notion", KEY)).toBe(true);
    expect(stored.get("notion")).toBe(KEY);
    expect(await keys.forget("notion")).toBe(true);
    expect(stored.has("notion")).toBe(false);
  });
});
