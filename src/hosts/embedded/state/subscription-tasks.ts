/** How far subscriptions to events have come: a text for each, which only its subscription reads. */
import { command, query, rows, run, type StateTask } from "./state-task.ts";

const all = query({ record: "text" }, "SELECT record FROM embedded_subscription ORDER BY name LIMIT $1");
const save = command(
  `INSERT INTO embedded_subscription (name, record) VALUES ($1, $2)
   ON CONFLICT (name) DO UPDATE SET record = excluded.record`,
);
const remove = command("DELETE FROM embedded_subscription WHERE name = $1");

export const subscriptionReads = {
  *subscriptions(limit: number): StateTask<readonly string[]> {
    return (yield* rows(all, limit)).map(({ record }) => record);
  },
};

export const subscriptionWrites = {
  *saveSubscription({ name, record }: { readonly name: string; readonly record: string }): StateTask<void> {
    yield* run(save, name, record);
  },

  /** Does nothing when there is none. */
  *removeSubscription(name: string): StateTask<void> {
    yield* run(remove, name);
  },
};
