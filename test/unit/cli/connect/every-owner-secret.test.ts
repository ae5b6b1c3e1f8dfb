import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BUILT_IN_PRESETS } from "../../../../src/presets/built-in.ts";
import { RecordedProcess } from "../recorded-process.ts";

let terminal: RecordedProcess;
beforeEach(async () => {
  terminal = new RecordedProcess();
  await terminal.run("init");
  await terminal.run("config", "set", "hooks.publicUrl", "https://gateway.example.com");
});
afterEach(() => {
  terminal.remove();
});

/** Presets whose secret the owner chooses, and that need nothing else. */
const OWNERS = BUILT_IN_PRESETS.filter(
  ({ secret, settings }) => secret?.madeBy === "owner" && !settings?.required?.length,
);

const HINTS: Readonly<Record<string, string>> = {
  github: "--repo owner/name --token-env NAME",
  gitlab: "--project group/name --token-env NAME",
  telegram: "--token-env NAME",
  "microsoft-graph": "--credentials-file FILE",
  "google-calendar": "--credentials-file FILE",
};

describe("reveille add", () => {
  it.each(OWNERS.map(({ name }) => name))(
    "makes a secret that %s takes, and shows the steps with it and the URL",
    async (name) => {
      terminal.out = "";
      expect([await terminal.run("add", name), terminal.err]).toEqual([0, ""]);
      const secret = readFileSync(join(dirname(terminal.configFile), `${name}-secret`), "utf8").trim();
      // Lemon Squeezy takes no longer ones; servers of MCP Events take those of Standard Webhooks alone.
      const form = name === "mcp-events" ? /^whsec_[A-Za-z0-9+/]{43}=$/u : /^[0-9a-f]{40}$/u;
      expect(secret.replace(/^reveille:/u, "")).toMatch(form);
      expect(terminal.out).toContain(`https://gateway.example.com/hooks/${name}`);
      expect(terminal.out).toContain(`which is set here already, so do not choose another: ${secret}\n`);
      const hint = HINTS[name];
      if (hint === undefined) expect(terminal.out).not.toContain("Or let this command register it");
      else expect(terminal.out).toContain(`Or let this command register it: reveille add ${name} ${hint}\n`);
      expect(terminal.out).not.toMatch(/\{(?:url|secret)\}|<the secret>/u);
    },
  );
});
