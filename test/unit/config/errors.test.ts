import { describe, expect, it } from "vitest";
import { ConfigError, configLines } from "../../../src/config/errors.ts";

const issues = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ path: `hooks.k${at}`, message: "is odd" }));

describe("ConfigError", () => {
  it("says each issue on a line of its own", () => {
    const error = new ConfigError([
      { path: "hooks.mappings[3].action", message: '"wak" is not one of wake, agent' },
      { path: "hooks.path", message: 'must not be "/"' },
    ]);
    expect(error.message).toBe(
      'hooks.mappings[3].action: "wak" is not one of wake, agent\nhooks.path: must not be "/"',
    );
    expect(error.name).toBe("ConfigError");
  });

  it("keeps all issues and counts in its message those past the hundredth", () => {
    const error = new ConfigError(issues(103));
    expect(error.issues).toHaveLength(103);
    const lines = error.message.split("\n");
    expect(lines).toHaveLength(101);
    expect(lines.at(-2)).toBe("hooks.k99: is odd");
    expect(lines.at(-1)).toBe("... and 3 more");
  });

  it("counts nothing when a hundred lines are enough", () => {
    expect(configLines(issues(100)).at(-1)).toBe("hooks.k99: is odd");
  });
});
