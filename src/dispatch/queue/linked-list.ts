/** A node of a {@link LinkedList}; in one list at a time. */
export class Linked<Node extends Linked<Node>> {
  /** The list in which it stands. */
  list: LinkedList<Node> | undefined = undefined;
  before: Node | undefined = undefined;
  after: Node | undefined = undefined;
}

/** A queue that gives up any of its members, wherever it stands, at the same cost. */
export class LinkedList<Node extends Linked<Node>> {
  #first: Node | undefined;
  #last: Node | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Node | undefined {
    return this.#first;
  }

  /** Adds to the end; the node leaves the list in which it stands. */
  push(node: Node): void {
    node.list?.remove(node);
    node.list = this;
    node.before = this.#last;
    if (this.#last) this.#last.after = node;
    else this.#first = node;
    this.#last = node;
    this.#length++;
  }

  /** Adds to the front; the node leaves the list in which it stands. */
  unshift(node: Node): void {
    node.list?.remove(node);
    node.list = this;
    node.after = this.#first;
    if (this.#first) this.#first.before = node;
    else this.#last = node;
    this.#first = node;
    this.#length++;
  }

  shift(): Node | undefined {
    const node = this.#first;
    if (node) this.remove(node);
    return node;
  }

  /** Takes from the end. */
  pop(): Node | undefined {
    const node = this.#last;
    if (node) this.remove(node);
    return node;
  }

  /** False when it is not in this list. */
  remove(node: Node): boolean {
    if (node.list !== this) return false;
    const { before, after } = node;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    node.list = undefined;
    node.before = undefined;
    node.after = undefined;
    this.#length--;
    return true;
  }
}
