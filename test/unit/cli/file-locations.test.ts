import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { findLocations } from "../../../src/cli/file-locations.ts";

const homeDir = join("/", "home", "ann");

describe("findLocations", () => {
  it("uses the folder .reveille of the home folder by default", () => {
    expect(findLocations({}, { env: {}, homeDir })).toEqual({
      configFile: join(homeDir, ".reveille", "reveille.json5"),
      stateDir: join(homeDir, ".reveille", "state"),
    });
  });

  it("lets the environment win over the default, and an option over the environment", () => {
    const env = { REVEILLE_CONFIG: "/etc/reveille.json5", REVEILLE_STATE_DIR: "/var/lib/reveille" };
    expect(findLocations({}, { env, homeDir })).toEqual({
      configFile: resolve("/etc/reveille.json5"),
      stateDir: resolve("/var/lib/reveille"),
    });
    expect(findLocations({ config: "c.json5", stateDir: "s" }, { env, homeDir })).toEqual({
      configFile: resolve("c.json5"),
      stateDir: resolve("s"),
    });
  });

  it("keeps the state beside the configuration, wherever that is, and takes an empty variable for none", () => {
    expect(findLocations({ config: "/x/y.json5" }, { env: { REVEILLE_STATE_DIR: "" }, homeDir }).stateDir).toBe(
      resolve("/x/state"),
    );
    expect(findLocations({}, { env: { REVEILLE_CONFIG: "" }, homeDir }).configFile).toContain(".reveille");
  });
});
