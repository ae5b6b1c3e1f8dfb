import type { IncomingMessage, ServerResponse } from "node:http";
import Type from "typebox";
import type { ApiEndpoints } from "../api/endpoint.ts";
import { answerError, sendError } from "../api/errors.ts";
import { compileBodyReader, readApiQuery } from "../api/request.ts";
import { ApiRouter, methodOf } from "../api/router.ts";
import type { Clock, HttpRouter, Logger } from "../core/host.ts";
import { type Answer, answerEmpty, answerJson } from "../http/answer.ts";
import { sendAnswer } from "../http/send-answer.ts";
import { tunnelClient } from "../http/tunnel-client.ts";
import type { LiveEvents } from "./live-events.ts";
import { sendPageFile } from "./page-files.ts";
import { isKnownHost, isOwnRequest, readCookie } from "./request-checks.ts";
import { SignIns } from "./sign-ins.ts";

/** The answer of a host to a sign-in: it is right, it is wrong, or the address has to wait. */
export type SignInVerdict = "ok" | "unauthorized" | { readonly lockedForSeconds: number };

/** A host's check of its own token, with its lockout. */
export interface SignInGuard {
  /** The answer to a sign-in that failed, where the host says it in its own words. */
  readonly advice?: string;
  /** Changes when the token does. */
  readonly generation: number;
  /** True when a proxy that the configuration trusts passes requests on. */
  readonly behindProxy: boolean;
  checkToken(req: IncomingMessage, token: string): SignInVerdict;
  /** Counts a sign-in that failed without a token. */
  refuse(req: IncomingMessage): SignInVerdict;
}

export interface ConsoleOptions {
  /** The path of the page, without a slash at its end. */
  readonly path: string;
  readonly guard: SignInGuard;
  /** The data of the pages, served below `<path>/api`. */
  readonly endpoints: ApiEndpoints;
  readonly events: LiveEvents;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NOT_SIGNED_IN = "Sign in again.";
const WRONG_SIGN_IN = "That is not the gateway token, or the link was used or is older than 60 seconds.";
const UNKNOWN_HOST =
  "Open the console by an address of the machine, as localhost, or behind a proxy in gateway.trustedProxies.";
const NOT_BUILT = "The page is not built; run npm run build, or start the gateway with npm start.";

const readSignIn = compileBodyReader<{ readonly token?: string; readonly link?: string }>(
  Type.Object(
    { token: Type.Optional(Type.String({ maxLength: 1_000 })), link: Type.Optional(Type.String({ maxLength: 100 })) },
    { additionalProperties: false },
  ),
);

/** The page that an owner opens in a browser, its sign-in and its data. */
export class ConsoleRoutes {
  readonly #options: ConsoleOptions;
  readonly #signIns: SignIns;
  readonly #api: ApiRouter;

  constructor(options: ConsoleOptions) {
    const { guard, clock, path, endpoints } = options;
    this.#options = options;
    this.#signIns = new SignIns({ clock, generation: () => guard.generation });
    this.#api = new ApiRouter({
      prefix: `${path}/api`,
      endpoints: {
        ...endpoints,
        "sign-in": { POST: (call) => this.#signIn(call.req, call.search) },
        "sign-out": { POST: ({ req }) => this.#signOut(req) },
      },
      admit: (req, res) => this.#admit(req, res),
    });
  }

  route(router: HttpRouter): void {
    const { path } = this.#options;
    router.register({ path, match: "prefix", handler: (req, res) => this.#handle(req, res) });
  }

  /** The route that leads a browser from `/` to the page, for a host in which nothing else is there. */
  routeFromRoot(router: HttpRouter): void {
    const { path } = this.#options;
    router.register({
      path: "/",
      match: "exact",
      // A redirect for browsers only: a sender whose URL lacks the path must see 404, not a page.
      handler: (req, res) => {
        if (methodOf(req) !== "GET") return sendError(res, "NOT_FOUND");
        sendAnswer(req, res, answerEmpty(302, { location: `${path}/` }));
      },
    });
  }

  /** `POST /api/v1/console/links`: a one-time link, for callers with the gateway token. */
  linkEndpoint(): ApiEndpoints {
    return { "console/links": { POST: () => answerJson(200, { ok: true, path: this.createLink() }) } };
  }

  /** The path of the page with a nonce in the fragment, which no server and no log ever gets. */
  createLink(): string {
    return `${this.#options.path}/#sign-in=${this.#signIns.createLink()}`;
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { path, events, logger, guard } = this.#options;
    const [pathname = ""] = (req.url ?? path).split("?", 1);
    const rest = pathname.slice(path.length);
    if (!isKnownHost(req, guard) && tunnelClient(req) === undefined)
      return sendError(res, "CROSS_SITE", { message: UNKNOWN_HOST });
    if (rest === "") return sendAnswer(req, res, answerEmpty(308, { location: `${path}/` }));
    if (rest === "/api/events" && methodOf(req) === "GET") {
      const { generation } = guard;
      // A rotated token ends the streams of every sign-in, too.
      if (this.#admit(req, res)) events.stream(req, res, () => guard.generation === generation);
      return;
    }
    if (rest.startsWith("/api/")) return this.#api.handle(req, res);
    if (methodOf(req) !== "GET") return sendError(res, "METHOD_NOT_ALLOWED", { headers: { allow: "GET, HEAD" } });
    try {
      if (!(await sendPageFile(req, res, rest.slice(1)))) sendError(res, "NOT_FOUND");
    } catch (error) {
      logger.error({ err: error }, "the console's page cannot be read");
      sendError(res, "INTERNAL", { message: NOT_BUILT });
    }
  }

  #admit(req: IncomingMessage, res: ServerResponse): boolean {
    const isSignIn = req.url === `${this.#options.path}/api/sign-in`;
    if (!isOwnRequest(req)) sendError(res, "CROSS_SITE");
    else if (!isSignIn && !this.#signIns.has(readCookie(req, cookieName(req)) ?? ""))
      sendError(res, "UNAUTHORIZED", { message: NOT_SIGNED_IN });
    else return true;
    return false;
  }

  async #signIn(req: IncomingMessage, search: string): Promise<Answer> {
    readApiQuery(search, []);
    const { token, link } = await readSignIn(req);
    const { guard, logger } = this.#options;
    const isLink = link !== undefined && this.#signIns.takeLink(link);
    const verdict = isLink ? "ok" : token === undefined ? guard.refuse(req) : guard.checkToken(req, token);
    if (verdict === "ok") {
      logger.info({ by: isLink ? "link" : "token" }, "signed in to the console");
      return answerJson(200, { ok: true }, { "set-cookie": this.#cookie(req, this.#signIns.begin()) });
    }
    logger.warn({}, "a sign-in to the console failed");
    if (verdict === "unauthorized") return answerError("UNAUTHORIZED", { message: guard.advice ?? WRONG_SIGN_IN });
    return answerError("TOO_MANY_FAILURES", {
      headers: { "retry-after": verdict.lockedForSeconds },
    });
  }

  #signOut(req: IncomingMessage): Answer {
    this.#signIns.end(readCookie(req, cookieName(req)) ?? "");
    return answerJson(200, { ok: true }, { "set-cookie": `${this.#cookie(req, "")}; Max-Age=0` });
  }

  #cookie(req: IncomingMessage, value: string): string {
    const secure = req.headers["x-forwarded-proto"] === "https" ? "; Secure" : "";
    return `${cookieName(req)}=${value}; HttpOnly; SameSite=Strict; Path=${this.#options.path}${secure}`;
  }
}

/** Cookies are shared by all ports of a machine, and two gateways may run there. */
function cookieName(req: IncomingMessage): string {
  return `reveille_console_${req.socket.localPort}`;
}
