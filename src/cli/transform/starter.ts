/** The text of a transform to begin with. */
import type { Preset } from "../../presets/preset.ts";
import { parsePayload } from "../../http/parse-payload.ts";
import { sampleBody } from "../../presets/preset.ts";
import { payloadType } from "./payload-type.ts";

export interface StarterOptions {
  /** The name of the module. */
  readonly name: string;
  readonly isJavaScript: boolean;
  /** Whose payloads it gets. */
  readonly preset: Preset | undefined;
}

const PLAIN_PAYLOAD = "{\n  readonly title?: string;\n  readonly text?: string;\n}";

/** A module that loads, has the types right and does something sensible. */
export function transformStarter({ name, isJavaScript, preset }: StarterOptions): string {
  const type = preset === undefined ? PLAIN_PAYLOAD : payloadType(payloadsOf(preset));
  const about =
    preset === undefined
      ? "The type that you expect. It is not checked: a caller can send anything."
      : `What the samples of ${plainTitle(preset)} hold. Real events hold more, and what only some samples have may be missing.`;
  const body = preset === undefined ? plainBody(name) : presetBody(preset);
  const parts = preset === undefined ? "{ payload }" : "{ payload, event, actor }";
  return isJavaScript ? javaScript({ type, about, parts, body }) : typeScript({ type, about, parts, body });
}

interface Parts {
  readonly type: string;
  readonly about: string;
  readonly parts: string;
  readonly body: string;
}

function typeScript({ type, about, parts, body }: Parts): string {
  const declared = type.startsWith("{") && type.endsWith("}") ? `interface Payload ${type}` : `type Payload = ${type};`;
  return `import { defineTransform } from "reveille";

/** ${about} */
${declared}

export default defineTransform<Payload>((${parts}) => {
${body}});
`;
}

function javaScript({ type, about, parts, body }: Parts): string {
  const indentedBody = body.replaceAll(/^(?=.)/gmu, "  ");
  return `// @ts-check
import { defineTransform } from "reveille";

/**
 * ${about}
 * @typedef {${type}} Payload
 */

export default defineTransform(
  /** @param {import("reveille").TransformContext<Payload>} context */
  (${parts}) => {
${indentedBody}  },
);
`;
}

const SKIP = "  // null skips the call: no agent hears of it, and the sender is answered 204.\n";
const CHANGE = "  // An object changes the mapping's action field by field; undefined leaves it as it is.\n";

function plainBody(name: string): string {
  return `${SKIP}  if (!payload.text) return null;

${CHANGE}  return {
    name: payload.title ?? ${JSON.stringify(name)},
    message: payload.text,
  };
`;
}

function presetBody(preset: Preset): string {
  const title = plainTitle(preset);
  return `${SKIP}  if (actor?.bot) return null;

${CHANGE}  // Without a message the agent reads what the preset makes of the event.
  return {
    name: \`${title} \${event ?? "event"}\`,
    // message: \`It holds: \${Object.keys(payload).join(", ")}\`,
  };
`;
}

/** Without what would end a comment or a text of the module. */
function plainTitle({ title }: Preset): string {
  return title.replaceAll(/[`\\$*/\p{Cc}]/gu, "");
}

/** As transforms get them. */
function payloadsOf(preset: Preset): readonly unknown[] {
  return Object.values(preset.samples).flatMap((sample) => {
    const { body, contentType } = sampleBody(sample);
    const parsed = parsePayload(body, contentType, { accept: ["json", "form", "multipart", "text"] });
    return parsed.ok ? [unwrapped(preset, parsed.payload)] : [];
  });
}

function unwrapped(preset: Preset, payload: unknown): unknown {
  try {
    return preset.unwrap(payload) ?? payload;
  } catch {
    return payload;
  }
}
