/** The yardstick: `node:http` reads the body, parses it and answers; nothing else. */
import { createServer } from "node:http";

const answer = JSON.stringify({ ok: true });
const headers = { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(answer) };

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString("utf8"));
    res.writeHead(200, headers);
    res.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`listening on http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
});
