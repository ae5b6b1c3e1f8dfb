/** What OpenClaw loads of this package: `openclaw.runtimeExtensions` of `package.json` names it. */
import { defineOpenClawPlugin } from "./define-openclaw-plugin.ts";

/** Where the hooks are unless the configuration says so: `/hooks` is the prefix of the host's own. */
const DEFAULT_PATH = "/reveille";

const plugin = defineOpenClawPlugin(
  {
    id: "reveille",
    name: "Reveille",
    description: "The webhook ingress of an AI-agent gateway: outside systems wake an agent, and no call is lost.",
  },
  { block: withDefaultPath },
);

function withDefaultPath(written: unknown): unknown {
  if (typeof written !== "object" || written === null || "path" in written) return written;
  return { path: DEFAULT_PATH, ...written };
}

// oxlint-disable-next-line import/no-default-export -- the host loads a default export
export { plugin as default };
