/**
 * Webhook endpoints of Stripe, whose secret Stripe makes and shows once.
 *
 * Source: https://docs.stripe.com/api/webhook_endpoints.
 */
import { listAt, textAt, valueAt } from "../../core/payload-text.ts";
import { CliError } from "../errors.ts";
import { MAX_PAGES, PAGE_SIZE, type Registered, type Registrar, type Wish } from "./registrar.ts";
import { SenderApiError } from "../../hosts/embedded/errors.ts";
import type { SenderApi } from "../../hosts/embedded/subscriptions/sender-api.ts";

/** Money that did not come, or is asked back. */
const EVENTS = [
  "invoice.payment_failed",
  "payment_intent.payment_failed",
  "charge.dispute.created",
  "checkout.session.completed",
  "customer.subscription.deleted",
  "payout.failed",
];

const PATH = "/v1/webhook_endpoints";
const ID = /^we_\w{1,100}$/u;

export const stripeWebhooks: Registrar = {
  preset: "stripe",
  title: "Stripe",
  api: "https://api.stripe.com",
  tokenKind: "a secret key (sk_...), or a restricted one (rk_...) that may write webhook endpoints",
  places: [],
  headersOf: (token) => ({ authorization: `Bearer ${token}` }),
  register,
  async remove(api, { id }) {
    try {
      await api.call({ method: "DELETE", path: `${PATH}/${id}`, act: `delete the endpoint ${id}` });
      return true;
    } catch (error) {
      if (error instanceof SenderApiError && error.status === 404) return false;
      throw error;
    }
  },
};

async function register(api: SenderApi, wish: Wish): Promise<Registered> {
  const { url, secret, events, replace, before } = wish;
  const known = await findStripeEndpoint(api, { url, id: before?.id });
  if (known !== undefined && secret !== undefined) {
    const body = formOf({ url, disabled: "false" }, events ?? []);
    const { body: endpoint } = await api.call({
      method: "POST",
      path: `${PATH}/${known.id}`,
      body,
      act: `update the endpoint ${known.id}`,
    });
    return { id: known.id, name: `endpoint ${known.id}`, isNew: false, events: eventsOf(endpoint) };
  }
  if (secret !== undefined) {
    throw new CliError(
      "Stripe has no endpoint with this URL, and makes a secret for each new one; the secret that is here belongs to another. Take it away first: with reveille remove stripe, or by moving its file.",
    );
  }
  if (known !== undefined && !replace) {
    throw new CliError(
      `Stripe has an endpoint with this URL already (${known.id}), and shows its secret only in the dashboard. Reveal it there and pipe it: reveille add stripe < file. Or add --replace: it deletes that endpoint, with what it still had to deliver, and makes another.`,
    );
  }
  if (known !== undefined) {
    await api.call({ method: "DELETE", path: `${PATH}/${known.id}`, act: `delete the endpoint ${known.id}` });
  }
  const body = formOf({ url, description: "Reveille" }, events ?? EVENTS);
  const { body: endpoint } = await api.call({ method: "POST", path: PATH, body, act: "make a webhook endpoint" });
  const id = textAt(endpoint, "id");
  const made = textAt(endpoint, "secret");
  if (!ID.test(id) || !/^whsec_\S{16,200}$/u.test(made)) {
    throw new CliError("Stripe answered without the id and the secret of the endpoint: look at its dashboard.");
  }
  return { id, name: `endpoint ${id}`, isNew: true, events: eventsOf(endpoint), secret: made };
}

export interface StripeEndpoint {
  readonly id: string;
  /** `*`: all. */
  readonly events: readonly string[];
}

/** The endpoint that is called under a URL, or has that id. */
export async function findStripeEndpoint(
  api: SenderApi,
  { url, id: before }: { readonly url: string; readonly id?: string | undefined },
): Promise<StripeEndpoint | undefined> {
  let after = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = await api.call({
      method: "GET",
      path: `${PATH}?limit=${PAGE_SIZE}${after}`,
      act: "list the webhook endpoints",
    });
    const endpoints = listAt(body, "data");
    const found = endpoints.find((each) => textAt(each, "url") === url || textAt(each, "id") === before);
    const id = textAt(found, "id");
    if (ID.test(id)) return { id, events: eventsOf(found) };
    if (valueAt(body, "has_more") !== true || endpoints.length === 0) return undefined;
    after = `&starting_after=${encodeURIComponent(textAt(endpoints.at(-1), "id"))}`;
  }
  return undefined;
}

function eventsOf(endpoint: unknown): readonly string[] {
  return listAt(endpoint, "enabled_events").filter((each) => typeof each === "string");
}

function formOf(fields: Readonly<Record<string, string>>, events: readonly string[]): URLSearchParams {
  const form = new URLSearchParams(fields);
  for (const event of events) form.append("enabled_events[]", event);
  return form;
}
