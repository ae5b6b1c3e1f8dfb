import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HostileGateway } from "./hostile-gateway.ts";
import type { HostileModule } from "./hostile-module.ts";
import { hostileModules } from "./hostile-modules.ts";
import { memoryBombs } from "./memory-bombs.ts";

/** Altogether more than a thousand. */
const CALLS_MEANWHILE = Math.ceil(1_000 / hostileModules.length);

describe.each([
  { what: "a hostile transform", modules: hostileModules, limits: {} },
  { what: "a transform that uses up memory", modules: memoryBombs, limits: { timeoutMs: 30_000 } },
])("$what", ({ modules, limits }) => {
  let hostile: HostileGateway;
  let aims: object;
  const socketServer = createServer((socket) => socket.end());

  beforeAll(async () => {
    hostile = await HostileGateway.start({ modules: sourcesOf(modules), limits });
    const { url, port, folder } = hostile.gateway;
    const socket = join(folder, "socket");
    await new Promise<void>((resolve) => socketServer.listen(socket, resolve));
    aims = { url, port, socket };
  });

  afterAll(async () => {
    socketServer.close();
    await hostile[Symbol.asyncDispose]();
  });

  it.each(modules.map(({ name, reason }, at) => ({ name, reason, at })))(
    "ends with $name as a failure that is kept, and ordinary calls continue meanwhile",
    async ({ reason, at }) => {
      const [kept] = await Promise.all([hostile.failed(pathOf(at), aims), hostile.callOften(CALLS_MEANWHILE)]);
      expect(kept).toMatch(reason);
      await hostile.callOrdinarily("innocent");
      await hostile.callOrdinarily("plain");
      expect(hostile.gateway.errors.filter((line) => !line.startsWith("a transform failed"))).toEqual([]);
    },
  );
});

function pathOf(at: number): string {
  return `hostile-${at}`;
}

function sourcesOf(modules: readonly HostileModule[]): Record<string, string> {
  return Object.fromEntries(modules.map(({ source }, at) => [pathOf(at), source]));
}
