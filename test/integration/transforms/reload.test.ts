import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDeliveredKeys } from "../../../src/auth/keys/delivered-keys.ts";
import { createRemoteKeys, REMOTE_KEY_BOUNDS } from "../../../src/auth/keys/remote-keys.ts";
import type { ActiveConfig } from "../../../src/ingress/active-config.ts";
import { ConfigReload } from "../../../src/ingress/reload.ts";
import { createIngressHooks } from "../../../src/ingress/hooks.ts";
import type { IngressHooks } from "../../../src/ingress/hooks.ts";
import type { ConfigSnapshot, GatewayHost } from "../../../src/core/host.ts";
import { call } from "../../unit/transform/config-folder.ts";
import { IngressHost, TOKEN } from "../../unit/ingress/ingress-host.ts";

const SOON = { timeout: 20_000, interval: 5 };
/** Each test starts several processes, one after the other. */
const STARTS = { timeout: 60_000 };
const FIRST = "export default () => ({ message: 'first' });";
const SECOND = "export default () => ({ message: 'second' });";
/** Answers after a while. */
const SLOW =
  "export default async () => { await new Promise((done) => setTimeout(done, 1500)); return { message: 'slow' }; };";

let fixture: IngressHost;
let state: string;
let generations: ConfigReload;
let remoteKeys: ReturnType<typeof createRemoteKeys>;
/** Called when a active begins to be prepared. */
let onPrepare: (() => void) | undefined;
beforeEach(async () => {
  fixture = await IngressHost.listen();
  state = mkdtempSync(join(tmpdir(), "generations-"));
  const { clock, logger } = fixture.host;
  remoteKeys = createRemoteKeys({ clock, logger, bounds: REMOTE_KEY_BOUNDS });
  const deliveredKeys = await openDeliveredKeys({ file: join(state, "keys.json"), clock, logger });
  const host: GatewayHost = { ...fixture.host, paths: { configDir: fixture.folder, stateDir: state } };
  onPrepare = undefined;
  const keys = async () => {
    onPrepare?.();
    return { remoteKeys, deliveredKeys };
  };
  generations = new ConfigReload({ host, keys, onCommit: () => {} });
});
afterEach(async () => {
  await generations.close();
  remoteKeys.close();
  await fixture[Symbol.asyncDispose]();
  rmSync(state, { recursive: true });
});

function write(name: string, source: string): void {
  mkdirSync(join(fixture.folder, "hooks", "transforms"), { recursive: true });
  writeFileSync(join(fixture.folder, "hooks", "transforms", name), source);
}

interface Offer {
  readonly active: ActiveConfig;
  readonly commit: () => void;
}

/** Prepares a configuration with a mapping for each module, `m0` and so on. */
async function prepare(
  modules: readonly string[],
  { hooks = createIngressHooks(), ...block }: { hooks?: IngressHooks; maxDepth?: number } = {},
): Promise<Offer> {
  const mappings = modules.map((module, at) => ({ id: `m${at}`, match: { path: `m${at}` }, transform: { module } }));
  const snapshot: ConfigSnapshot = {
    config: { enabled: true, token: TOKEN, mappings, transforms: { workers: 1, timeoutMs: 10_000 }, ...block },
    reason: "reload",
    gateway: { secrets: [], loopbackOnly: true, trustedProxies: [] },
    agents: fixture.host.agents,
    channels: fixture.host.channels.list(),
    onCommit: () => {},
  };
  return await generations.prepare(snapshot, hooks);
}

/** What the first mapping's transform says in the active configuration, which a request in progress keeps from ending. */
async function said({ transforms } = generations.current!): Promise<unknown> {
  transforms.enter();
  try {
    return await call(transforms.get("m0"));
  } finally {
    transforms.leave();
  }
}

/** Writes a file that is gone again when the next active begins to be prepared: seen, and not there when it is acted upon. */
function writePassing(andThen = () => {}): void {
  onPrepare = () => {
    rmSync(join(fixture.folder, "hooks", "transforms", "passing.mjs"), { force: true });
    andThen();
  };
  write("passing.mjs", FIRST);
}

/** The copies of the folder that have not been removed: one for each set of transforms that lives. */
function copies(): number {
  const folder = join(state, "transforms");
  return existsSync(folder) ? readdirSync(folder).length : 0;
}

describe("a active that is prepared", STARTS, () => {
  it("is active once it is committed, not before, and the previous one leaves nothing behind", async () => {
    write("a.mjs", FIRST);
    write("b.mjs", SECOND);
    const first = await prepare(["a.mjs"]);
    expect(generations.current).toBeUndefined();
    first.commit();
    expect(generations.current).toBe(first.active);
    const second = await prepare(["b.mjs"]);
    expect(await said()).toEqual({ message: "first" });
    expect(copies()).toBe(2);
    second.commit();
    expect(await said()).toEqual({ message: "second" });
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
  });

  it("and never committed ends with the next, or when all is closed", async () => {
    write("a.mjs", FIRST);
    await prepare(["a.mjs"]);
    expect(copies()).toBe(1);
    await prepare(["a.mjs"]);
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
    await generations.close();
    expect(copies()).toBe(0);
  });

  it("keeps the active transforms when nothing of them has changed", async () => {
    write("a.mjs", FIRST);
    const first = await prepare(["a.mjs"]);
    first.commit();
    const same = await prepare(["a.mjs"], { maxDepth: 10 });
    expect(same.active.transforms).toBe(first.active.transforms);
    const other = await prepare(["a.mjs"], { maxDepth: 11 });
    other.commit();
    expect(await said()).toEqual({ message: "first" });
    expect(copies()).toBe(1);
  });

  it("works although the transforms that it has taken over were replaced before its commit", async () => {
    write("a.mjs", FIRST);
    const first = await prepare(["a.mjs"]);
    first.commit();
    const later = await prepare(["a.mjs"], { maxDepth: 10 });
    await sleep(300);
    write("a.mjs", SECOND);
    await vi.waitFor(async () => expect(await said()).toEqual({ message: "second" }), SOON);
    later.commit();
    expect(generations.current?.config.maxDepth).toBe(10);
    expect(await said()).toEqual({ message: "first" });
    // And what it could not know of is taken up at once.
    await vi.waitFor(async () => expect(await said()).toEqual({ message: "second" }), SOON);
    expect(generations.current?.config.maxDepth).toBe(10);
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
  });

  it("by an ingress that was shut down meanwhile is refused and leaves nothing behind", async () => {
    write("a.mjs", FIRST);
    const hooks = createIngressHooks();
    hooks.presets.tap("test", () => void generations.close());
    await expect(prepare(["a.mjs"], { hooks })).rejects.toThrow("has been shut down");
    expect(copies()).toBe(0);
  });
});

describe("a active that is being prepared", STARTS, () => {
  it("has ended, and left nothing behind, when all is closed", async () => {
    write("a.mjs", "await new Promise(() => {}); export default () => 1;");
    const preparing = prepare(["a.mjs"]).catch((error: unknown) => error);
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
    await generations.close();
    expect(copies()).toBe(0);
    expect(await preparing).toBeInstanceOf(Error);
  });
});

describe("a active that another has replaced", STARTS, () => {
  /** The first of two, with a request and its call in progress on it; the request has not ended when the call has. */
  async function replaced(
    source: string,
  ): Promise<{ readonly first: ActiveConfig; readonly called: Promise<unknown> }> {
    write("a.mjs", source);
    write("b.mjs", SECOND);
    const { active: first, commit } = await prepare(["a.mjs"]);
    commit();
    first.transforms.enter();
    const called = said(first);
    // Whoever waits for it is told.
    called.catch(() => {});
    (await prepare(["b.mjs"])).commit();
    return { first, called };
  }

  it("is waited for when the gateway stops, while a request is in progress on it", async () => {
    const { first, called } = await replaced(SLOW);
    let isSettled = false;
    const settled = generations.settle(60_000).then(() => (isSettled = true));
    expect(await called).toEqual({ message: "slow" });
    expect(isSettled).toBe(false);
    first.transforms.leave();
    await settled;
  });

  it("has ended, together with its work in progress, when everything is closed", async () => {
    const { called } = await replaced("export default () => new Promise(() => {});");
    const [outcome] = await Promise.all([called.catch((error: unknown) => error), generations.close()]);
    expect(outcome).toBeInstanceOf(Error);
    expect(copies()).toBe(0);
  });
});

describe("a change of the transforms folder", STARTS, () => {
  it("makes the same configuration active again; a refused one leaves the active one in place", async () => {
    write("a.mjs", FIRST);
    (await prepare(["a.mjs"], { maxDepth: 10 })).commit();
    await sleep(300);
    write("a.mjs", "export default () => {");
    await vi.waitFor(() => expect(fixture.logger.lines.filter(({ level }) => level === "error")).toHaveLength(1), SOON);
    const [refused] = fixture.logger.lines.filter(({ level }) => level === "error");
    expect(refused?.message).toBe("a change of transforms is refused; the versions before stay active");
    expect(String(refused?.fields["issues"])).toMatch(/^hooks\.mappings\[0\]\.transform\.module: .*a\.mjs:1:\d+/);
    expect(await said()).toEqual({ message: "first" });
    write("a.mjs", SECOND);
    await vi.waitFor(async () => expect(await said()).toEqual({ message: "second" }), SOON);
    expect(generations.current?.config.maxDepth).toBe(10);
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
  });

  it("that does not finish loading is given up for the next one, and when all is closed", async () => {
    write("a.mjs", FIRST);
    (await prepare(["a.mjs"])).commit();
    await sleep(300);
    write("a.mjs", "await new Promise(() => {}); export default () => 1;");
    await vi.waitFor(() => expect(copies()).toBe(2), SOON);
    write("a.mjs", SECOND);
    await vi.waitFor(async () => expect(await said()).toEqual({ message: "second" }), SOON);
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
    write("a.mjs", "for (;;);");
    await vi.waitFor(() => expect(copies()).toBe(2), SOON);
    await generations.close();
    expect(copies()).toBe(0);
    expect(fixture.logger.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("takes nothing else of the configuration into use", async () => {
    write("a.mjs", FIRST);
    const hooks = createIngressHooks();
    let asked = 0;
    hooks.presets.tap("test", () => void asked++);
    (await prepare(["a.mjs"], { hooks })).commit();
    await sleep(300);
    write("a.mjs", SECOND);
    await vi.waitFor(async () => expect(await said()).toEqual({ message: "second" }), SOON);
    expect(asked).toBe(1);
  });

  it("waits for a call in progress when the gateway stops, as long as one may take", async () => {
    write("slow.mjs", SLOW);
    const { active, commit } = await prepare(["slow.mjs"]);
    commit();
    const slow = said();
    await generations.settle(60_000);
    expect(await slow).toEqual({ message: "slow" });
    active.transforms.enter();
    await generations.settle(20);
    active.transforms.leave();
  });

  it("that leaves it as it was makes none", async () => {
    write("a.mjs", FIRST);
    let prepared = 0;
    const first = await prepare(["a.mjs"]);
    first.commit();
    await sleep(300);
    writePassing(() => prepared++);
    await vi.waitFor(() => expect(prepared).toBeGreaterThan(0), SOON);
    await sleep(100);
    expect(generations.current).toBe(first.active);
    expect(await said()).toEqual({ message: "first" });
    // And it is no longer watched once nothing of it is used.
    (await prepare([])).commit();
    write("a.mjs", SECOND);
    (await prepare(["a.mjs"])).commit();
    expect(await said()).toEqual({ message: "second" });
  });

  it("does not end the active configuration of a request in progress when another one is loaded", async () => {
    write("slow.mjs", SLOW);
    write("b.mjs", SECOND);
    const first = await prepare(["slow.mjs"]);
    first.commit();
    const second = await prepare(["b.mjs"]);
    first.active.transforms.enter();
    const slow = said(first.active);
    // While the folder's change is looked at, the configuration is committed; the transforms turn out to be the same.
    await sleep(300);
    await new Promise<void>((resolve) => {
      writePassing(() => {
        onPrepare = undefined;
        second.commit();
        resolve();
      });
    });
    expect(await slow).toEqual({ message: "slow" });
    expect(await said()).toEqual({ message: "second" });
    first.active.transforms.leave();
    await vi.waitFor(() => expect(copies()).toBe(1), SOON);
  });
});
