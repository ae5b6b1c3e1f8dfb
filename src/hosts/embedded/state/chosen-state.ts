import type { ArgsOf, ReadName, Reads, ResultOf, StateStore, WriteName } from "./state-store.ts";
import type { StateWrites } from "./state-writes.ts";

/**
 * The state, once it is known which database has it: the configuration that names one is read when the parts that use
 * it are there. What is asked for before waits.
 */
export class ChosenState implements StateStore {
  readonly #choice = Promise.withResolvers<StateStore>();
  #chosen: StateStore | undefined;

  choose(state: StateStore): void {
    this.#chosen = state;
    this.#choice.resolve(state);
  }

  get isShared(): boolean {
    return this.#chosen?.isShared ?? false;
  }

  async write<Name extends WriteName>(
    name: Name,
    ...args: ArgsOf<StateWrites, Name>
  ): Promise<ResultOf<StateWrites, Name>> {
    return (await this.#choice.promise).write(name, ...args);
  }

  operation(name: WriteName): string | undefined {
    return this.#chosen?.operation(name);
  }

  async read<Name extends ReadName>(name: Name, ...args: ArgsOf<Reads, Name>): Promise<ResultOf<Reads, Name>> {
    return (await this.#choice.promise).read(name, ...args);
  }

  async tryWrite(): Promise<void> {
    await (await this.#choice.promise).tryWrite();
  }

  async confirmPlace(): Promise<void> {
    await (await this.#choice.promise).confirmPlace();
  }
}
