import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayProcess } from "./gateway-process.ts";

describe("a full disk", () => {
  let disk: string;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    disk = mkdtempSync(join(tmpdir(), "reveille-disk-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", disk]);
    gateway = new GatewayProcess({}, { stateDir: join(disk, "state") });
    await gateway.start();
  });
  afterEach(async () => {
    await gateway.close();
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  it("is answered 503 with Retry-After, leaves no half-written delivery, and the same process accepts again afterwards", async () => {
    const text = "x".repeat(50_000);
    const wake = () => gateway.post("/hooks/wake", { text, mode: "next-heartbeat" });
    expect((await wake()).status).toBe(200);
    await gateway.settled();

    const filler = join(disk, "filler");
    fill(filler);
    const refused = await untilRefused(wake);
    expect(refused).toMatchObject({ status: 503, body: { ok: false, code: "STORE_UNAVAILABLE" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    const before = await gateway.deliveries();
    const during = await Promise.all(Array.from({ length: 10 }, wake));
    const accepted = during.filter(({ status }) => status === 200);
    expect(during.every(({ status }) => status === 200 || status === 503)).toBe(true);
    expect(await gateway.deliveries()).toHaveLength(before.length + accepted.length);

    unlinkSync(filler);
    await expect.poll(async () => (await wake()).status, { timeout: 30_000, interval: 200 }).toBe(200);
    await gateway.settled();
    for (const { id } of await gateway.deliveries()) {
      const delivery = await gateway.delivery(id);
      expect(delivery).toMatchObject({
        state: "done",
        bodyBytes: JSON.stringify({ text, mode: "next-heartbeat" }).length,
      });
    }
  }, 60_000);

  /** Writes until there is no space left. */
  function fill(file: string): void {
    const page = Buffer.alloc(4_096);
    try {
      for (;;) writeFileSync(file, page, { flag: "a" });
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  }

  async function untilRefused(wake: () => ReturnType<GatewayProcess["post"]>): ReturnType<GatewayProcess["post"]> {
    for (;;) {
      const answer = await wake();
      if (answer.status !== 200) return answer;
    }
  }
});
