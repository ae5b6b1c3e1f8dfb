interface Link<Item> {
  readonly item: Item;
  next: Link<Item> | undefined;
}

/** A list that is added to at either end and taken from at its front, each at a cost that does not grow. */
export class Fifo<Item> {
  #first: Link<Item> | undefined;
  #last: Link<Item> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Item | undefined {
    return this.#first?.item;
  }

  push(item: Item): void {
    const link: Link<Item> = { item, next: undefined };
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size++;
  }

  unshift(item: Item): void {
    this.#first = { item, next: this.#first };
    this.#last ??= this.#first;
    this.#size++;
  }

  shift(): Item | undefined {
    const link = this.#first;
    if (link === undefined) return undefined;
    this.#first = link.next;
    if (this.#first === undefined) this.#last = undefined;
    this.#size--;
    return link.item;
  }
}
