/**
 * A module that a transform may not have, or that is not there; the message is for the operator.
 *
 * Its code is the one that packages look for which can do without an optional dependency.
 */
export class ModuleRefusedError extends Error {
  override readonly name = "ModuleRefusedError";
  readonly code = "MODULE_NOT_FOUND";
}
