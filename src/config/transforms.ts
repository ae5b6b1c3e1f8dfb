import { isAbsolute, join, relative, resolve, sep } from "node:path";
import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { type Bounds, readBodyBytes, size, text, whole, withDefault } from "./schema-parts.ts";

/** The isolation of transforms and the limits of one process. */
export interface TransformsConfig {
  /** `none`: in the gateway's own process, where no other limit applies. */
  readonly isolation: "process" | "none";
  /** Of one call. */
  readonly timeoutMs: number;
  /** Processes that stay warm. */
  readonly workers: number;
  readonly maxMemoryBytes: number;
  /** Calls after which a process is replaced. */
  readonly maxCalls: number;
  /** Calls of one module that wait, over which the answer is 503. */
  readonly maxWaiting: number;
  /** Of a result as JSON. */
  readonly maxResultBytes: number;
}

/** Bytes of memory of one sandbox process: up to 8 GiB. */
const SANDBOX_BYTES: Bounds = { minimum: 67_108_864, maximum: 8_589_934_592 };
/** Bytes of what a transform returns: up to 16 MiB. */
const RESULT_BYTES: Bounds = { minimum: 1_024, maximum: 16_777_216 };

/** `hooks.transformsDir`. */
export const TRANSFORMS_DIR = withDefault(
  text({
    description: "Folder of transform modules: `<configuration folder>/hooks/transforms` or a folder in it.",
  }),
  ".",
);

/** Neither blank nor absolute, no `~` at the start, no `:` and no control character, no `..` segment. */
const SAFE_MODULE =
  "^(?!\\s*[/\\\\~])(?!(?:[\\s\\S]*[/\\\\])?\\s*\\.\\.\\s*(?:[/\\\\]|$))(?=\\s*\\S)[^:\\u0000-\\u001f]+$";

/** `transform` of a mapping. */
export const MappingTransformSchema = Type.Object(
  {
    module: text({
      description: "Path of a JavaScript or TypeScript module, relative to `hooks.transformsDir`.",
      title: 'a safe relative path (not absolute, no "~" at its start, no ":" and no ".." segment)',
      pattern: SAFE_MODULE,
    }),
    export: Type.Optional(
      text({
        description: "Name of the exported function. Absent: `default`, then `transform`.",
        title: "the name of an export",
        pattern: "\\S",
      }),
    ),
  },
  { additionalProperties: false, description: "A module that changes or skips what the mapping makes of a payload." },
);

/** `hooks.transforms`. */
export const TransformsSchema = Type.Object(
  {
    isolation: withDefault(
      Type.Enum(["process", "none"], {
        description:
          "`process`: transforms run in processes of their own that can only compute. `none`: they run inside the gateway with all its rights and without any limit.",
      }),
      "process",
    ),
    timeoutMs: withDefault(
      whole(
        { minimum: 10, maximum: 60_000 },
        "Milliseconds that one call may take, after which its process is killed.",
      ),
      2_000,
    ),
    workers: withDefault(
      whole(
        { minimum: 1, maximum: 64 },
        "Processes that stay warm. Each file has a process of its own: with more files than this, a process starts with the first call of a file and ends after a minute without one. At most 4 times as many exist.",
      ),
      2,
    ),
    maxMemory: withDefault(
      size(SANDBOX_BYTES, "Memory of one process, over which it is killed. Its JavaScript heap may have half of it."),
      268_435_456,
    ),
    maxCalls: withDefault(
      whole({ minimum: 1, maximum: 1_000_000_000 }, "Calls after which a process is replaced by a new one."),
      10_000,
    ),
    maxWaiting: withDefault(
      whole(
        { minimum: 1, maximum: 65_536 },
        "Calls of one module that may wait for a process, over which the answer is 503.",
      ),
      256,
    ),
    maxResultBytes: withDefault(
      size(RESULT_BYTES, "Largest result of a transform, as JSON; a larger one is a failure."),
      1_048_576,
    ),
  },
  { additionalProperties: false, description: "The isolation and the limits of transforms." },
);

const TRANSFORMS_DEFAULTS = TransformsSchema.properties;

/** Reads `hooks.transforms`. */
export function readTransforms(input: Static<typeof TransformsSchema>, findings: Findings): TransformsConfig {
  const { maxMemory, maxResultBytes } = input;
  return {
    isolation: input.isolation ?? TRANSFORMS_DEFAULTS.isolation.default,
    timeoutMs: input.timeoutMs ?? TRANSFORMS_DEFAULTS.timeoutMs.default,
    workers: input.workers ?? TRANSFORMS_DEFAULTS.workers.default,
    maxMemoryBytes: readBodyBytes(
      maxMemory ?? TRANSFORMS_DEFAULTS.maxMemory.default,
      "hooks.transforms.maxMemory",
      findings,
      SANDBOX_BYTES,
    ),
    maxCalls: input.maxCalls ?? TRANSFORMS_DEFAULTS.maxCalls.default,
    maxWaiting: input.maxWaiting ?? TRANSFORMS_DEFAULTS.maxWaiting.default,
    maxResultBytes: readBodyBytes(
      maxResultBytes ?? TRANSFORMS_DEFAULTS.maxResultBytes.default,
      "hooks.transforms.maxResultBytes",
      findings,
      RESULT_BYTES,
    ),
  };
}

/**
 * The folder of transform modules as an absolute path within `<configDir>/hooks/transforms`
 * (specification 2.1). It is compared as text here, symbolic links where modules are loaded.
 */
export function readTransformsDir(written: string | undefined, configDir: string, findings: Findings): string {
  const root = join(configDir, "hooks", "transforms");
  const given = written?.trim() || TRANSFORMS_DIR.default;
  const folder = resolve(root, given);
  const way = relative(root, folder);
  const leaves = way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
  if (leaves || given.startsWith("~") || given.includes("\0")) {
    findings.refuse("hooks.transformsDir", `must be a folder within ${root}; write it relative to that folder`);
  }
  return folder;
}
