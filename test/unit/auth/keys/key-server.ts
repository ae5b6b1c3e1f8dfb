/** A server on 127.0.0.1 whose answer a test sets. */
import http from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";
import type { Clock, Logger } from "../../../../src/core/host.ts";
import type { MadeCertificate } from "./make-certificate.ts";

export interface KeyServer {
  /** `http://127.0.0.1:<port>`, or https. */
  readonly origin: string;
  readonly port: number;
  /** Targets asked for, in order. */
  readonly asked: string[];
  answer: (response: ServerResponse, request: IncomingMessage) => void;
  /** Takes no more connections, and cuts those it has. */
  stop(): Promise<void>;
}

/** Starts a server that is stopped with the test; `port` starts it again where another one was. */
export async function startKeyServer(
  answer: KeyServer["answer"],
  { certificate, port = 0 }: { certificate?: MadeCertificate; port?: number } = {},
): Promise<KeyServer> {
  const asked: string[] = [];
  const listener: RequestListener = (request, response) => {
    asked.push(request.url!);
    keyServer.answer(response, request);
  };
  const server =
    certificate === undefined
      ? http.createServer(listener)
      : https.createServer(
          { cert: certificate.pem, key: certificate.privateKey.export({ type: "pkcs8", format: "pem" }) },
          listener,
        );
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  const taken = (server.address() as AddressInfo).port;
  const keyServer: KeyServer = {
    origin: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${taken}`,
    port: taken,
    asked,
    answer,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  onTestFinished(() => keyServer.stop());
  return keyServer;
}

/** Answers with JSON. */
export function json(data: unknown, headers: Record<string, string> = {}): KeyServer["answer"] {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(data));
  };
}

/** Answers with a status and a text. */
export function text(body: string, status = 200): KeyServer["answer"] {
  return (response) => {
    response.writeHead(status, { "content-type": "text/plain" });
    response.end(body);
  };
}

/** Never answers. */
export const silence: KeyServer["answer"] = () => undefined;

/** A clock that a test sets; 2026-11-20T12:00:00Z at first. */
export function testClock(): Clock & { nowMs: number } {
  return {
    nowMs: Date.UTC(2026, 10, 20, 12),
    now() {
      return this.nowMs;
    },
  };
}

/** A logger that keeps what it is told: level, fields and sentence. */
export function keepingLogger(): Logger & { readonly lines: [string, object, string][] } {
  const lines: [string, object, string][] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message]);
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Waits until a check passes, also on a machine that has much else to do. */
export function eventually(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 15_000, interval: 5 });
}
