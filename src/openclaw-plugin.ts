/** The entry that OpenClaw loads: `openclaw.runtimeExtensions` of `package.json` names it. */
import { defineOpenClawPlugin } from "./hosts/openclaw/define-plugin.ts";
import { withHostDefaults } from "./hosts/openclaw/plugin-block.ts";
import { requireCalls } from "./hosts/openclaw/require-calls.ts";

const plugin = defineOpenClawPlugin(
  {
    id: "reveille",
    name: "Reveille",
    description: "The webhook ingress of an AI-agent gateway: outside systems wake an agent, and no call is lost.",
  },
  {
    block: withHostDefaults,
    loadSdk: requireCalls,
    async runCommand(args, context) {
      const { runOpenClawCli } = await import("./cli/openclaw/gateway.ts");
      return runOpenClawCli(args, { ...context, block: withHostDefaults });
    },
  },
);

// oxlint-disable-next-line import/no-default-export -- the host loads a default export
export { plugin as default };
