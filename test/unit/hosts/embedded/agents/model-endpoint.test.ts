import { describe, expect, it } from "vitest";
import { resolveModel } from "../../../../../src/hosts/embedded/agents/model-endpoint.ts";
import { gatewayConfig } from "../state/temporary-gateway.ts";

const provider = { baseUrl: "http://127.0.0.1:1/v1", apiKey: undefined, headers: {} };
const base = gatewayConfig();
const config = gatewayConfig({
  models: { providers: new Map([["local", provider]]) },
  agents: {
    ...base.agents,
    allowedModels: [
      { ref: "local/big", alias: "smart" },
      { ref: "local/small", alias: "local/alias" },
    ],
  },
});

describe("resolveModel", () => {
  it.each([
    ["local/big", "big"],
    ["smart", "big"],
    ["local/vendor/model:7b", "vendor/model:7b"],
    ["local/alias", "small"],
  ])("spec 2.3: model is <provider>/<model> or an alias: %s", (reference, modelId) => {
    expect(resolveModel(config, reference)).toEqual({ providerId: "local", provider, modelId });
  });

  it.each(["", "big", "/big", "local/", "Smart"])("says that %j is neither", (reference) => {
    expect(resolveModel(config, reference)).toEqual({
      problem: `Model ${JSON.stringify(reference)} is neither an alias of agents.defaults.models nor written <provider>/<model>.`,
    });
  });

  it.each(["other/model", "__proto__/x", "constructor/x"])(
    "says that the provider of %s is not defined",
    (reference) => {
      const problem = `Model "${reference}" names the provider "${reference.split("/")[0]}", which models.providers does not define.`;
      expect(resolveModel(config, reference)).toEqual({ problem });
    },
  );

  it("keeps a caller's reference short and on one line", () => {
    const resolved = resolveModel(config, `a\nb${"x".repeat(10_000)}`);
    expect(resolved).toHaveProperty("problem", expect.stringMatching(/^Model "a\\nbx{97}…" is neither/));
  });

  it("works without an allowlist", () => {
    const open = gatewayConfig({ models: config.models });
    expect(resolveModel(open, "local/big")).toHaveProperty("modelId", "big");
    expect(resolveModel(open, "smart")).toHaveProperty("problem");
  });
});
