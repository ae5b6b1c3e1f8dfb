import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { onClientGone } from "../../../src/ingress/client-gone.ts";

describe("onClientGone", () => {
  let client: Socket;
  let served: Socket;
  const server = createServer();

  beforeEach(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    client = connect({ host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0 });
    [served] = (await once(server, "connection")) as [Socket];
  });
  afterEach(async () => {
    client.destroy();
    served.destroy();
    server.close();
    await once(server, "close");
  });

  it("notifies all listeners, with one listener on the connection for all of them", async () => {
    const told: number[] = [];
    const before = served.listenerCount("close");
    for (let at = 0; at < 20; at++) onClientGone(served, () => told.push(at));
    expect(served.listenerCount("close")).toBe(before + 1);
    client.destroy();
    served.resume();
    await once(served, "close");
    expect(told).toHaveLength(20);
  });

  it("notifies when the client closes its side alone, and at once from then on", async () => {
    const heard: string[] = [];
    const half = createServer({ allowHalfOpen: true });
    half.listen(0, "127.0.0.1");
    await once(half, "listening");
    const address = half.address();
    const sender = connect({ port: typeof address === "object" ? (address?.port ?? 0) : 0, allowHalfOpen: true });
    const [accepted] = (await once(half, "connection")) as [Socket];
    onClientGone(accepted, () => heard.push("end"));
    sender.end();
    accepted.resume();
    await once(accepted, "end");
    onClientGone(accepted, () => heard.push("ended"));
    expect(accepted.destroyed).toBe(false);
    expect(heard).toEqual(["end", "ended"]);
    accepted.destroy();
    sender.destroy();
    half.close();
    await once(half, "close");
  });

  it("does not notify removed listeners", async () => {
    const told: string[] = [];
    const forget = onClientGone(served, () => told.push("gone"));
    onClientGone(served, () => told.push("stays"));
    forget();
    served.destroy();
    await once(served, "close");
    expect(told).toEqual(["stays"]);
  });

  it("notifies at once when the connection has closed already", async () => {
    served.destroy();
    await once(served, "close");
    const told: string[] = [];
    onClientGone(served, () => told.push("late"))();
    expect(told).toEqual(["late"]);
  });
});
