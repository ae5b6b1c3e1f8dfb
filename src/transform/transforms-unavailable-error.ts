import { ConfigError } from "../config/config-error.ts";

/** Transforms that could not be made ready for a reason that may pass: a full disk, no free process. */
export class TransformsUnavailableError extends ConfigError {}
