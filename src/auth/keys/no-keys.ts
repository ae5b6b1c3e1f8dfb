import type { SchemeContext } from "../signatures/scheme-context.ts";

/** Keys of a configuration that is only looked at: nothing is fetched, read or written. */
export const NO_KEYS: Pick<SchemeContext, "remoteKeys" | "deliveredKeys"> = Object.freeze({
  remoteKeys: {
    jwks: () => ({ verify: () => Promise.resolve({ ok: false, reason: "no keys are fetched here" } as const) }),
    certificate: () => undefined,
    confirm: () => Promise.resolve(false),
    close: () => {},
  },
  deliveredKeys: { get: () => undefined, accept: () => Promise.resolve(false) },
});
