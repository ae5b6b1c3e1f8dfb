import { cpSync, globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The instructions of a Containerfile, comments aside. */
export function readContainerfile(file: string): readonly Instruction[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ name: line.split(" ", 1)[0]!, rest: line.slice(line.indexOf(" ") + 1) }));
}

/** Carries out COPY and RUN as a build does, with a folder in the place of the container's root. */
export class ContainerRoot {
  readonly folder: string;
  readonly #instructions: readonly Instruction[];

  constructor(folder: string, instructions: readonly Instruction[]) {
    this.folder = folder;
    this.#instructions = instructions;
  }

  /** `run` gets a script whose absolute paths are those of the folder. */
  async build(context: string, run: (script: string) => Promise<unknown>): Promise<void> {
    for (const { name, rest } of this.#instructions) {
      if (name === "COPY") this.#copy(context, rest.split(" "));
      if (name === "RUN") await run(this.inside(rest));
    }
  }

  /** A text with the absolute paths of the container. */
  inside(text: string): string {
    return text.replaceAll(/(?<![\w.:/])\/(?=(?:opt|data)\b)/gu, `${this.folder}/`);
  }

  environment(): Record<string, string> {
    const pairs = this.values("ENV").map((rest) => this.inside(rest).split("=", 2));
    return Object.fromEntries(pairs as [string, string][]);
  }

  /** What is started: ENTRYPOINT and CMD, in the form that starts no shell. */
  command(): readonly string[] {
    const parts = [...this.values("ENTRYPOINT"), ...this.values("CMD")].map((json) => JSON.parse(json) as string[]);
    return parts.flat().map((argument) => this.inside(argument));
  }

  healthcheck(): readonly string[] {
    const [rest = ""] = this.values("HEALTHCHECK");
    return JSON.parse(rest.slice(rest.indexOf("CMD ") + 4)) as string[];
  }

  values(name: string): readonly string[] {
    return this.#instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
  }

  #copy(context: string, [from = "", to = ""]: readonly string[]): void {
    const target = this.inside(to);
    mkdirSync(dirname(target), { recursive: true });
    for (const file of globSync(from, { cwd: context })) cpSync(resolve(context, file), join(target));
  }
}
