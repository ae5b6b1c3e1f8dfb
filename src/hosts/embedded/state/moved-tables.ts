import { all, type MovedTable, table } from "../../../storage/postgres/move/tables.ts";

/** The tables of the state that move to PostgreSQL. The sizes of transcripts are counted again there. */
export const MOVED_STATE: readonly MovedTable[] = [
  table(
    "embedded_session",
    {
      ...all("bigint", "id", "created_at", "active_at", "messages", "pending", "pending_bytes"),
      ...all("text", "key", "wake_agent", "wake_reason", "route_channel", "route_to", "agent_session", "rights"),
      kept: "int",
    },
    { order: "id", numbers: "id" },
  ),
  table(
    "embedded_event",
    { ...all("bigint", "id", "session", "at"), ...all("text", "key", "text", "owner_channel", "owner_to") },
    { order: "id", numbers: "id" },
  ),
  table(
    "embedded_message",
    { ...all("bigint", "id", "session", "at"), ...all("text", "run_id", "role", "text"), isolated: "int" },
    { order: "id", numbers: "id" },
  ),
  table(
    "embedded_outbox",
    { ...all("bigint", "id", "at"), ...all("text", "channel", "key", "recipient", "state", "text") },
    { order: "id", numbers: "id" },
  ),
  table(
    "embedded_approval",
    {
      ...all("bigint", "seq", "asked_at"),
      ...all("text", "id", "question", "agent", "session", "run", "title", "input", "state"),
    },
    { order: "seq", numbers: "seq" },
  ),
  table("embedded_subscription", all("text", "name", "record"), { order: "name" }),
];
