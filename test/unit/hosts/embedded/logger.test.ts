import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGatewayLogger } from "../../../../src/hosts/embedded/logger.ts";
import type { GatewayLogger, GatewayLoggerOptions } from "../../../../src/hosts/embedded/logger.ts";

let folder: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reveille-log-"));
  fd = openSync(join(folder, "log"), "w");
});

afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

async function written(log: (logger: GatewayLogger) => void, options: GatewayLoggerOptions = {}): Promise<string> {
  const logger = createGatewayLogger({ fd, ...options });
  log(logger);
  await logger.flush();
  return readFileSync(join(folder, "log"), "utf8");
}

describe("createGatewayLogger", () => {
  it("writes one JSON line for each message, with its fields", async () => {
    const text = await written((logger) => {
      logger.info({ port: 1 }, "first");
      logger.warn({}, "second");
      logger.error({ err: new Error("broke") }, "third");
    });
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toMatchObject([
      { level: "info", port: 1, msg: "first" },
      { level: "warn", msg: "second" },
      { level: "error", msg: "third", err: { message: "broke" } },
    ]);
    expect(lines[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u);
  });

  it("replaces what stands under the name of a secret, however deep it is logged", async () => {
    const secret = "never-in-a-log";
    const text = await written((logger) => {
      logger.info(
        {
          token: secret,
          headers: { authorization: secret },
          config: { gateway: { secret }, provider: { apiKey: secret } },
          err: Object.assign(new Error("x"), { authorization: secret }),
        },
        "settings",
      );
      logger.info({ id: 1, token: secret }, "a line without objects");
    });
    expect(text).not.toContain(secret);
    expect(text.match(/\[redacted\]/gu)).toHaveLength(6);
  });

  it("writes from the given level on, and from info on when the level is unknown", async () => {
    const debug = (logger: GatewayLogger): void => {
      logger.debug({}, "detail");
    };
    expect(await written(debug)).toBe("");
    expect(await written(debug, { level: "louder" })).toBe("");
    expect(await written(debug, { level: "debug" })).toContain("detail");
  });

  it("writes lines for people where asked to, with the same replacements", async () => {
    const text = await written(
      (logger) => {
        logger.info({ token: "never-in-a-log", port: 1 }, "listening");
      },
      { readable: true },
    );
    expect(text).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] INFO.*listening/u);
    expect(text).toContain("port: 1");
    expect(text).not.toContain("never-in-a-log");
  });

  // The device takes no byte, as a disk that is full.
  it.runIf(existsSync("/dev/full"))("keeps the process alive on a full disk, and lets it end", () => {
    const program = `
      import { openSync } from "node:fs";
      import { createGatewayLogger } from ${JSON.stringify(new URL("../../../../src/hosts/embedded/logger.ts", import.meta.url).href)};
      const logger = createGatewayLogger({ fd: openSync("/dev/full", "w") });
      logger.info({}, "a line");
      await logger.flush();
      logger.info({}, "another line");
      await logger.flush();
      process.stdout.write("alive");
      process.exit(0);`;
    const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
      timeout: 30_000,
      killSignal: "SIGKILL",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "alive" });
  });
});
