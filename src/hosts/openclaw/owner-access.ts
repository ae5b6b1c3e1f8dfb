/**
 * Deliveries for the owner inside the host: gateway methods for its clients and apps, and a tool for the owner's
 * agent. The entry loads this file with the host, so that it imports nothing: the service brings the rest.
 */
import type { OwnerDeliveries } from "./owner-deliveries.ts";
import type { OpenClawApi, OpenClawTool, OpenClawToolContext } from "./sdk.ts";

/** Also in `contracts.tools` of the manifest. */
export const DELIVERIES_TOOL = "webhook_deliveries";

/**
 * The host may load the plugin once more to find its tools, without starting its service: every copy finds the
 * deliveries of the service that runs here.
 */
const RUNNING = Symbol.for("reveille.runningDeliveries");

const NOT_RUNNING = "The hooks of Reveille do not run in this process; the gateway's log says why.";

/** Gives the deliveries of the running service to the methods and the tool; `undefined` takes them back. */
export function shareDeliveries(deliveries: OwnerDeliveries | undefined): void {
  Reflect.set(globalThis, RUNNING, deliveries);
}

function runningDeliveries(): OwnerDeliveries | undefined {
  return Reflect.get(globalThis, RUNNING) as OwnerDeliveries | undefined;
}

const SCOPES = { list: "operator.read", get: "operator.read", replay: "operator.write" } as const;

/** Registers the gateway methods `reveille.deliveries.list`, `.get` and `.replay`. */
export function registerGatewayMethods(api: OpenClawApi, pluginId: string): void {
  for (const name of ["list", "get", "replay"] as const) {
    api.registerGatewayMethod?.(
      `${pluginId}.deliveries.${name}`,
      async ({ params, respond }) => {
        const outcome = await runningDeliveries()?.call(name, params);
        if (outcome === undefined) respond(false, undefined, { code: "UNAVAILABLE", message: NOT_RUNNING });
        else if (outcome.ok) respond(true, outcome.value);
        else respond(false, undefined, { code: outcome.code, message: outcome.message });
      },
      { scope: SCOPES[name] },
    );
  }
}

/**
 * Registers the tool. Turns that the owner began have it, and no others: no run of a hook, and no turn of another
 * person.
 */
export function registerDeliveriesTool(api: OpenClawApi): void {
  api.registerTool?.((context) => (isOfOwner(context) ? TOOL : null), { name: DELIVERIES_TOOL });
}

/** A turn of a subagent may have read what a stranger wrote. */
function isOfOwner({ senderIsOwner, sessionKey = "" }: OpenClawToolContext): boolean {
  return senderIsOwner === true && !sessionKey.includes(":subagent:");
}

const PARAMETERS = {
  type: "object",
  additionalProperties: false,
  required: ["action"],
  properties: {
    action: { type: "string", enum: ["list", "show", "replay"] },
    id: { type: "string", description: "The id of a delivery, for show and replay: dlv_..." },
    since: { type: "string", description: "For list: how long ago (24h, 7d) or a date. Default: 24h." },
    state: { type: "string", description: "For list: done, failed, queued, running, held, filtered or another state." },
    route: { type: "string", description: "For list: the route, such as github." },
    open: { type: "boolean", description: "For list: failed deliveries that are not resolved, and no others." },
    limit: { type: "integer", minimum: 1, maximum: 200 },
  },
} as const;

const TOOL: OpenClawTool = {
  name: DELIVERIES_TOOL,
  label: "Webhook deliveries",
  description:
    "Lists the webhook calls that arrived at this gateway with their states and reasons, shows one, and replays one that failed. Replay a delivery only when the owner asks for it.",
  parameters: PARAMETERS,
  async execute(_callId, params) {
    const text = (await runningDeliveries()?.answerTool(params as Readonly<Record<string, unknown>>)) ?? NOT_RUNNING;
    return { content: [{ type: "text", text }], details: {} };
  },
};
