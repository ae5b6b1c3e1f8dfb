const BODY_BYTES = 1_024;
/** As in a mail or an issue, no two stretches of it are alike. */
const TEXT = Array.from({ length: BODY_BYTES / 8 }, (_, at) => `word${(at * 7_919) % 10_007}`).join(" ");

/** The JSON of every call: 1 KiB; `userId` makes it another one. */
export function callBody(userId: number | string): string {
  const payload = { event: "push", mode: "next-heartbeat", user: { name: "ada", id: userId }, text: "" };
  return JSON.stringify({ ...payload, text: TEXT.slice(0, BODY_BYTES - JSON.stringify(payload).length) });
}
