/**
 * A peer: what a webhook handler on a common framework does. It compares a bearer token, has the
 * body validated against a schema, keeps the call in memory and answers. Nothing is on disk.
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import fastify from "fastify";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
const token = digest(process.env["BENCH_TOKEN"] ?? "");
const kept: unknown[] = [];

const app = fastify({ logger: false });
const schema = {
  body: {
    type: "object",
    required: ["text"],
    properties: { text: { type: "string" }, mode: { enum: ["now", "next-heartbeat"] } },
  },
};
app.post<{ Body: { mode?: string } }>("/hooks/wake", { schema }, async (request, reply) => {
  const presented = request.headers.authorization?.replace(/^Bearer /i, "") ?? "";
  if (!timingSafeEqual(digest(presented), token)) return reply.code(401).send({ ok: false });
  // Bounded, so that the peer's memory is not what is measured.
  if (kept.length === 10_000) kept.length = 0;
  kept.push(request.body);
  return { ok: true, mode: request.body.mode ?? "now", deliveryId: randomUUID() };
});
console.log(`listening on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);
