/** One of the two ingresses of the gateway. */
export interface Side {
  readonly name: "built-in" | "reveille";
  readonly prefix: string;
  readonly token: string;
}

export const BUILT_IN: Side = { name: "built-in", prefix: "/hooks", token: "the-token-of-the-built-in-hooks" };
export const REVEILLE: Side = { name: "reveille", prefix: "/reveille", token: "the-token-of-reveille-in-the-bench" };

/** In the order in which they are measured. */
export const SIDES: readonly Side[] = [BUILT_IN, REVEILLE];
