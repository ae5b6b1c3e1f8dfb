import { CERTIFICATE_BOUNDS } from "../../../../src/auth/keys/certificate-cache.ts";
import { JWKS_BOUNDS } from "../../../../src/auth/keys/jwks-source.ts";
import type { RemoteKeyBounds } from "../../../../src/auth/keys/remote-keys.ts";

/** For tests in which the keys arrive: on a busy machine the first fetch may be slow. */
export const PATIENT_BOUNDS: RemoteKeyBounds = {
  jwks: { ...JWKS_BOUNDS, waitMs: 15_000 },
  certificates: { ...CERTIFICATE_BOUNDS, waitMs: 15_000 },
};
