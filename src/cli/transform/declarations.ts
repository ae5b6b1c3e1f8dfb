/** The types of `reveille` for editors, in a folder where the package is not installed. */

/** The first line of {@link DECLARATIONS}; a file that begins with it may be replaced. */
export const DECLARATIONS_MARK = "// Written by `reveille transform new`, which replaces it when it is another one.";

/**
 * `reveille.d.ts`: the types that the package exports for transforms. A test compares them with
 * `src/transform/context.ts`.
 */
export const DECLARATIONS = `${DECLARATIONS_MARK}
// The types of transforms, for editors: the gateway brings the package itself.

declare module "reveille" {
  /** The request that a transform may read; nothing in it carries a credential. */
  export interface TransformContext<Payload = unknown> {
    /** The parsed body; of a mapping with \`forEach\`, with one item instead of the list. */
    readonly payload: Payload;
    /** Lower-case names. */
    readonly headers: Readonly<Record<string, string>>;
    /** The last value of a repeated parameter. */
    readonly query: Readonly<Record<string, string>>;
    /** The URL that was called, \`hooks.path\` included, on the host \`localhost\`; parameters that carry a credential are gone. */
    readonly url: URL;
    /** The path below the prefix: \`github/push\`. */
    readonly path: string;
    readonly method: string;
    /** The exact bytes received; secrets that the sender puts into its bodies are masked. */
    readonly rawBody: Uint8Array;
    /** The event's name, when the mapping's preset knows it: \`pull_request.opened\`. */
    readonly event: string | undefined;
    /** The actor of the event, when the mapping's preset knows it. */
    readonly actor: EventActor | undefined;
    /** The earlier name of \`actor\`. */
    readonly sender: EventActor | undefined;
    /** The sender's id for this delivery, when the mapping's preset knows it. */
    readonly deliveryId: string | undefined;
    /** The time at which the request arrived. */
    readonly time: Date;
  }

  /** The person or bot behind an event. */
  export interface EventActor {
    readonly name: string;
    /** Another name it goes by, such as an id. */
    readonly id?: string;
    /** True when the sender marks it as a bot, or when it is the webhook's own app. */
    readonly bot: boolean;
    /** True for the app or account that the webhook belongs to: the agent may have caused the event itself. */
    readonly own?: boolean;
    /** True where the event does not prove the id: no list and no role counts. */
    readonly unproven?: boolean;
    /** What the sender says that the person is to it: \`MEMBER\` at GitHub. */
    readonly role?: string;
    /** The least of its own level and of those who wrote text that the event carries. */
    readonly level?: "unknown" | "known" | "trusted" | "owner";
    /** By the mapping's lists and the role, whatever others wrote. */
    readonly ownLevel?: "unknown" | "known" | "trusted" | "owner";
  }

  /** The fields of an action in a transform's result; a missing one is as the mapping says. */
  export type TransformAction = Readonly<{
    kind?: "wake" | "agent" | null;
    name?: string | number | null;
    agentId?: string | number | null;
    /** \`true\` takes the boundary away: only for text that no one outside can write. */
    allowUnsafeExternalContent?: boolean | null;
    /** The text of a \`wake\`. */
    text?: string | null;
    /** The time at which a \`wake\` is heard. */
    mode?: "now" | "next-heartbeat" | null;
    /** The message of an \`agent\`. */
    message?: string | null;
    sessionKey?: string | number | null;
    /** \`static\`: the key was not derived from the payload. */
    sessionKeySource?: string | null;
    wakeMode?: "now" | "next-heartbeat" | null;
    deliver?: boolean | null;
    channel?: string | number | null;
    to?: string | number | null;
    model?: string | number | null;
    thinking?: string | number | null;
    sessionMode?: "isolated" | "persistent" | null;
    timeoutSeconds?: number | null;
  }>;

  /** \`null\` or \`[]\`: skip the call. \`undefined\`: the mapping's own action. An object changes it, an array makes several. */
  export type TransformResult = TransformAction | readonly (TransformAction | null)[] | null | undefined;

  /** Changes what a mapping makes of a payload. */
  export type TransformFunction<Payload = unknown> = (
    context: TransformContext<Payload>,
  ) => TransformResult | void | Promise<TransformResult | void>;

  /** Gives a transform its types, and is it. The type of the payload is what is expected, not what was checked. */
  export function defineTransform<Payload = unknown>(transform: TransformFunction<Payload>): TransformFunction<Payload>;

  /** The value under a path such as \`pull_request.user.login\` or \`alerts[0].labels\`. */
  export function valueAt(payload: unknown, path: string): unknown;
  /** The text under the first of the paths where there is one, a number or a boolean as text; \`""\` otherwise. */
  export function textAt(payload: unknown, ...paths: readonly string[]): string;
  /** The array under a path; empty when there is none. */
  export function listAt(payload: unknown, path: string): readonly unknown[];
  /** Cuts a text to a length, with an ellipsis instead of the rest. */
  export function clip(text: string, length: number): string;
  /** \`Label: text\`; nothing without a text. */
  export function labeled(label: string, text: string): string;
  /** Joins the parts that are not empty. */
  export function joinText(separator: string, ...parts: readonly string[]): string;
  /** The lines that are not empty, as one message. */
  export function messageOf(...lines: readonly (string | readonly string[])[]): string;
  /** One line for each item, up to \`limit\` (20); the rest are counted. */
  export function itemLines(items: readonly unknown[], line: (item: unknown) => string, limit?: number): readonly string[];
}
`;

/** \`tsconfig.json\`: what makes an editor find the declarations. */
export const TSCONFIG = `// For editors, and for: npx --package typescript tsc --project .
// The gateway does not read it. For the types of Node's own modules: npm install @types/node, and add "types": ["node"].
{
  "compilerOptions": {
    "target": "esnext",
    "lib": ["esnext", "webworker"],
    "module": "preserve",
    "moduleDetection": "force",
    "strict": true,
    "noEmit": true,
    "allowJs": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true
  }
}
`;
