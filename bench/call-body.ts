const BODY_BYTES = 1_024;

/** The JSON of every call: 1 KiB; `userId` makes it another one. */
export function callBody(userId: number | string): string {
  const payload = { event: "push", mode: "next-heartbeat", user: { name: "ada", id: userId }, text: "" };
  return JSON.stringify({ ...payload, text: "x".repeat(BODY_BYTES - JSON.stringify(payload).length) });
}
