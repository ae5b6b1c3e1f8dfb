import { type FakeAnswer, FakeSender, type SeenCall } from "../../../cli/connect/fake-sender.ts";

export const CREDENTIALS = {
  client_id: "app-of-tests",
  client_secret: "secret-of-the-app",
  refresh_token: "refresh-1",
};
const ACCESS = "access-token-of-these-tests";

export interface FakeWatch {
  readonly body: Readonly<Record<string, unknown>>;
  expiresAt: number;
}

/** The sign-in, Graph, Gmail and Calendar of these tests, each at its path. */
export class FakeCloud {
  readonly watches = new Map<string, FakeWatch>();
  /** Refresh tokens that are given in the place of the one that was used. */
  readonly rotation: string[] = [];
  /** How long a watch lasts. */
  lifetimeMs = 3 * 86_400_000;
  /** Calls the URL of a subscription before it is made, as Graph does. */
  validate: (url: string) => Promise<boolean> = () => Promise.resolve(true);
  refreshToken: string = CREDENTIALS.refresh_token;
  readonly sender = new FakeSender((call) => this.#answer(call));
  #made = 0;

  get tokenUrl(): string {
    return `${this.sender.url}/{tenant}/oauth2/v2.0/token`;
  }

  async #answer(call: SeenCall): Promise<FakeAnswer> {
    if (call.path.endsWith("/oauth2/v2.0/token")) return this.#signIn(call);
    if (call.headers.authorization !== `Bearer ${ACCESS}`) {
      return {
        status: 401,
        body: { error: { code: "InvalidAuthenticationToken", message: "Access token is empty." } },
      };
    }
    if (call.path.startsWith("/v1.0/subscriptions")) return this.#graph(call);
    const body = call.body === "" ? {} : (JSON.parse(call.body) as Record<string, unknown>);
    if (call.path === "/gmail/v1/users/me/stop")
      return this.watches.delete("mailbox") ? { status: 204 } : { status: 404 };
    if (call.path === "/gmail/v1/users/me/watch") {
      if (!String(body["topicName"]).startsWith("projects/"))
        return { status: 400, body: { error: { message: "Invalid topicName" } } };
      this.watches.set("mailbox", { body, expiresAt: this.#end() });
      return { status: 200, body: { historyId: "1234567890", expiration: String(this.#end()) } };
    }
    if (call.path === "/calendar/v3/channels/stop") {
      const known = this.watches.get(String(body["id"]));
      if (known === undefined || body["resourceId"] !== "resource-1") return { status: 404 };
      this.watches.delete(String(body["id"]));
      return { status: 204 };
    }
    if (call.path === "/calendar/v3/calendars/ada%40example.com/events/watch") {
      if (body["type"] !== "web_hook" || typeof body["token"] !== "string") return { status: 400 };
      this.watches.set(String(body["id"]), { body, expiresAt: this.#end() });
      const { id, token } = body;
      return {
        status: 200,
        body: { kind: "api#channel", id, token, resourceId: "resource-1", expiration: String(this.#end()) },
      };
    }
    return { status: 404, body: { error: { message: "Not Found" } } };
  }

  #signIn({ path, method, body, headers }: SeenCall): FakeAnswer {
    const form = new URLSearchParams(body);
    const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
    if (method !== "POST" || !isForm || form.get("client_secret") !== CREDENTIALS.client_secret) {
      return {
        status: 401,
        body: { error: "invalid_client", error_description: `wrong: ${form.get("client_secret")}` },
      };
    }
    if (form.get("grant_type") === "client_credentials") {
      const isTenant = path.startsWith("/acme.example/") && form.get("scope")?.endsWith("/.default") === true;
      return isTenant ? { status: 200, body: { access_token: ACCESS, expires_in: 3_599 } } : { status: 400 };
    }
    if (form.get("grant_type") !== "refresh_token" || form.get("refresh_token") !== this.refreshToken) {
      return { status: 400, body: { error: "invalid_grant", error_description: "Token has been expired or revoked." } };
    }
    this.refreshToken = this.rotation.shift() ?? this.refreshToken;
    return { status: 200, body: { access_token: ACCESS, expires_in: 3_599, refresh_token: this.refreshToken } };
  }

  async #graph({ method, path, body }: SeenCall): Promise<FakeAnswer> {
    const id = path.split("/")[3];
    if (id === undefined) {
      const written = JSON.parse(body) as Record<string, string>;
      if (method !== "POST" || written["clientState"] === undefined) return { status: 400 };
      if (!(await this.validate(written["notificationUrl"]!))) {
        return {
          status: 400,
          body: { error: { code: "ValidationError", message: "Subscription validation request failed." } },
        };
      }
      const made = `7f1c5a30-1f5e-4a56-9f0e-3d1c2b7a9e1${++this.#made}`;
      this.watches.set(made, { body: written, expiresAt: this.#end() });
      return { status: 201, body: { id: made, expirationDateTime: new Date(this.#end()).toISOString() } };
    }
    const known = this.watches.get(id);
    if (known === undefined) return { status: 404, body: { error: { code: "ResourceNotFound", message: "gone" } } };
    if (method === "DELETE") {
      this.watches.delete(id);
      return { status: 204 };
    }
    if (
      method !== "PATCH" ||
      Number.isNaN(Date.parse((JSON.parse(body) as { expirationDateTime: string }).expirationDateTime))
    ) {
      return { status: 400 };
    }
    known.expiresAt = this.#end();
    return { status: 200, body: { id, expirationDateTime: new Date(known.expiresAt).toISOString() } };
  }

  #end(): number {
    return Math.floor((Date.now() + this.lifetimeMs) / 1_000) * 1_000;
  }
}
