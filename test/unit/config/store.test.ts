import { describe, expect, it } from "vitest";
import { read, refusalsOf } from "./hooks-context.ts";

describe("hooks.store", () => {
  it("is the SQLite file when absent, and the database at a URL", () => {
    expect(read({}).config.store).toBeUndefined();
    const url = "postgresql://reveille:secret@db.example.com:5432/reveille?sslmode=verify-full";
    expect(read({ store: { url } }).config.store).toEqual({ url, several: false });
    expect(read({ store: { url, several: true } }).config.store).toEqual({ url, several: true });
  });

  it.each(["", "mysql://u@h/name", "postgresql://user:hunter2@host", "host=db password=hunter2", "hunter2"])(
    "refuses %j, and shows no part of it",
    (url) => {
      const [line, ...more] = refusalsOf({ store: { url } });
      expect(more).toEqual([]);
      expect(line).toMatch(/^hooks\.store\.url: is (?:empty|not the URL of a database; write postgresql:\/\/)/u);
      expect(line).not.toContain("hunter2");
    },
  );

  it("refuses a variable that is not set, and a key it does not know", () => {
    expect(refusalsOf({ store: { url: { env: "NO_SUCH_DATABASE" } } })).toEqual([
      "hooks.store.url: the environment variable NO_SUCH_DATABASE is not set",
    ]);
    expect(refusalsOf({ store: { file: "x" } })).toHaveLength(2);
  });
});
