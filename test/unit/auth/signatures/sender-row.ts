import type { AuthInput } from "../../../../src/config/auth/schema.ts";

/** The ways of signing; each has one oracle in the test. */
export type SenderShape =
  | "body"
  | "pairs"
  | "timed"
  | "identified"
  | "url"
  | "form"
  | "digest"
  | "fields"
  | "public key"
  | "certificate"
  | "secret"
  | "basic"
  | "token";

/** What a sender may sign of a request. */
export interface Signable {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly id: string;
  /** The time, as the sender writes it. */
  readonly time: string;
}

/** One sender: its scheme as data, and in a function what it signs. */
export interface SenderRow {
  readonly sender: string;
  readonly shape: SenderShape;
  readonly auth: Omit<AuthInput, "secret"> & { readonly secret?: string };
  readonly signs: (request: Signable) => string;
  /** Whether its hexadecimal digits are capital letters. */
  readonly isUpperCase?: boolean;
}
