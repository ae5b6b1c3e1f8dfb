/**
 * The model of the benchmark, a process of its own so that it does not share the gateway's core:
 * `node bench/model-server.ts <ms of a turn>`. It always says the same; `GET /turns` counts what it was asked.
 */
import { createServer } from "node:http";

const turnMs = Number(process.argv[2]);
const chunk = { id: "c", object: "chat.completion.chunk", created: 0, model: "slow" };
const delta = { ...chunk, choices: [{ index: 0, delta: { content: "HEARTBEAT_OK" }, finish_reason: "stop" }] };
const answer = `data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`;
let turns = 0;

const server = createServer((req, res) => {
  req.resume();
  if (req.url === "/turns") {
    res.end(String(turns));
    return;
  }
  turns++;
  const reply = (): void => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(answer);
  };
  if (turnMs > 0) setTimeout(reply, turnMs);
  else req.once("end", reply);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
});
process.on("SIGTERM", () => process.exit(0));
