/**
 * A peer: fastify in front of pg-boss, as its users run it. A call is answered when PostgreSQL has committed its job.
 * `DATABASE_URL` names the database.
 */
import { timingSafeEqual } from "node:crypto";
import fastify from "fastify";
import { PgBoss } from "pg-boss";

const token = Buffer.from(`Bearer ${process.env["BENCH_TOKEN"] ?? ""}`);
const boss = new PgBoss({ connectionString: process.env["DATABASE_URL"] ?? "", max: 16 });
boss.on("error", console.error);
await boss.start();
await boss.createQueue("wake");

const app = fastify({ logger: false });
const schema = {
  body: {
    type: "object",
    required: ["text"],
    properties: { text: { type: "string" }, mode: { enum: ["now", "next-heartbeat"] } },
  },
};
app.post("/hooks/wake", { schema }, async (request, reply) => {
  const presented = Buffer.from(request.headers.authorization ?? "");
  if (presented.length !== token.length || !timingSafeEqual(presented, token)) return reply.code(401).send({});
  return { ok: true, id: await boss.send("wake", request.body as object) };
});
console.log(`listening on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);
process.on("SIGTERM", () => process.exit(0));
