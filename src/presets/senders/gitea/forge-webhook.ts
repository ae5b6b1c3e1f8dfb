import Type from "typebox";
import type { PresetDefinition } from "../../define-preset.ts";
import { unwrapFormPayload } from "../../embedded-payload.ts";
import { authorsAt, eventActor, hasBotMark } from "../../event-fields.ts";
import type { EventActor, PresetContext } from "../../preset.ts";
import { lineAt } from "../../message/headline.ts";
import { forgeMessage } from "./forge-message.ts";
import { forgeSamples } from "./forge-samples.ts";

/** A push carries all of its commits with the names of their files. */
const MAX_BODY_BYTES = 8_388_608;

/** The further settings of `hooks.gitea` and `hooks.forgejo`. */
const SETTINGS = Type.Object({
  contentType: Type.Optional(
    Type.Enum(["json", "form"], {
      description: "The webhook's POST content type. Of a form the JSON in it is signed, not the body. Absent: `json`.",
    }),
  ),
});

/** The webhook that Gitea and Forgejo share; `brand` is the name of the one or the other. */
export function forgeWebhook(brand: "Gitea" | "Forgejo") {
  const name = brand.toLowerCase() as Lowercase<typeof brand>;
  return {
    text: "markdown",
    // Both sign the JSON of an event, whatever they wrap it in.
    auth: ({ contentType }) => ({
      from: `header:X-${brand}-Signature`,
      content: contentType === "form" ? "{body:payload}" : "{body}",
    }),
    secret: { label: "Secret", madeBy: "owner" },
    settings: SETTINGS,
    event: [`header:x-${name}-event`, "body:action"],
    deliveryId: { from: `header:x-${name}-delivery`, signed: false },
    sender: forgeSender,
    authors: ({ payload }) => authorsAt(payload, AUTHORS),
    vouchesForActors: true,
    unwrap: unwrapFormPayload,
    message: ({ event, payload }) => forgeMessage(event, payload),
    mapping: { name: brand, accept: ["json", "form"], maxBodyBytes: MAX_BODY_BYTES },
    success: { statuses: "2xx", otherwise: "marks the delivery as failed, and does not try again by itself" },
    ignored: "events of accounts whose name ends in [bot], and of the account of Actions",
    samples: forgeSamples(`x-${name}`, `https://${name}.example.com`),
  } as const satisfies Partial<PresetDefinition>;
}

const AUTHORS = ["issue.user", "pull_request.user", "comment.user", "release.author"].map((at) => ({ id: `${at}.id` }));

/** The accounts in whose name workflows act. */
const ACTIONS_ACCOUNTS = new Set(["gitea-actions", "forgejo-actions"]);

function forgeSender({ payload }: PresetContext): EventActor | undefined {
  const name = lineAt(payload, "sender.login", "sender.username", "pusher.login", "pusher.username");
  const id = lineAt(payload, "sender.id");
  const bot = hasBotMark(name) || ACTIONS_ACCOUNTS.has(name.toLowerCase());
  return eventActor(name, id, bot);
}
