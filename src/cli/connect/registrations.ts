/** The webhooks that `reveille add` has registered, kept beside the configuration until `reveille remove`. */
import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import Type, { type Static } from "typebox";
import { Check } from "typebox/schema";
import { CliError } from "../errors.ts";
import { writeNew } from "../replace-file.ts";

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

const KeptSchema = Type.Object({
  /** The name in the configuration. */
  sender: text(200),
  preset: text(200),
  /** Where its API is. */
  api: text(2_048),
  id: text(200),
  place: Type.Union([
    Type.Null(),
    Type.Object({ kind: Type.Enum(["repo", "org", "project", "group"]), name: text(500) }),
  ]),
  url: text(2_048),
});

/** No secret, and no token. */
export type KeptRegistration = Static<typeof KeptSchema>;

const MAX_KEPT = 200;
const MAX_BYTES = 1_048_576;
const FileSchema = Type.Object({ registrations: Type.Array(KeptSchema, { maxItems: MAX_KEPT }) });

export class Registrations {
  readonly #configFile: string;
  readonly #file: string;
  #kept: readonly KeptRegistration[] = [];

  private constructor(configFile: string) {
    this.#configFile = configFile;
    this.#file = join(dirname(configFile), "registrations.json");
  }

  /** Throws a {@link CliError} for a file that another program has changed. */
  static beside(configFile: string): Registrations {
    const registrations = new Registrations(configFile);
    registrations.#read();
    return registrations;
  }

  of(sender: string): readonly KeptRegistration[] {
    return this.#kept.filter((each) => each.sender === sender);
  }

  /** The latest with an id. */
  find(id: string): KeptRegistration | undefined {
    return this.#kept.findLast((each) => each.id === id);
  }

  /** Keeps one in the place of an earlier record of the same webhook; the oldest goes when there are too many. */
  add(added: KeptRegistration): void {
    this.#read();
    this.#save([...this.#kept.filter((each) => !isSame(each, added)), added].slice(-MAX_KEPT));
  }

  delete(deleted: KeptRegistration): void {
    this.#read();
    this.#save(this.#kept.filter((each) => !isSame(each, deleted)));
  }

  /** Again before each change: while the sender was asked, another command may have added one. */
  #read(): void {
    const file = this.#file;
    if (!existsSync(file)) return;
    const content = statSync(file).size > MAX_BYTES ? undefined : parse(readFileSync(file, "utf8"));
    if (!isKept(content)) {
      throw new CliError(`${file} cannot be read as the list of registered webhooks. Repair it, or move it away.`);
    }
    this.#kept = content.registrations;
  }

  #save(kept: readonly KeptRegistration[]): void {
    const draft = `${this.#file}.${process.pid}.tmp`;
    const { uid, gid } = statSync(this.#configFile);
    rmSync(draft, { force: true });
    writeNew(draft, `${JSON.stringify({ registrations: kept }, undefined, 2)}\n`, { mode: 0o600, uid, gid });
    renameSync(draft, this.#file);
    this.#kept = kept;
  }
}

function isSame(left: KeptRegistration, right: KeptRegistration): boolean {
  const key = ({ sender, api, id, place }: KeptRegistration): string => JSON.stringify([sender, api, id, place?.name]);
  return key(left) === key(right);
}

function isKept(content: unknown): content is Static<typeof FileSchema> {
  return Check(FileSchema, content);
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
