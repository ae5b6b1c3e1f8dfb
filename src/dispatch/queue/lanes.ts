import type { Priority } from "../../config/run.ts";

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

/** From the one that goes first to the one that waits. */
const PRIORITIES: readonly Priority[] = ["high", "normal", "low"];

/** Turns that may pass over a priority that waits; the next one is its own. */
const PATIENCE = 7;

export interface LanesOptions<Item, Group> {
  /** Items of a group share a priority and can be held back together; it must not change while an item waits. */
  groupOf(item: Item): Group;
  /** True while items of the group may go. Asked again at {@link Lanes.review}. */
  isOpen(group: Group): boolean;
  /** Asked when the group is open, and again at {@link Lanes.review}. */
  priorityOf(group: Group): Priority;
}

/**
 * The lanes of one process: a FIFO for each session key, of which at most one item is active.
 *
 * Lanes whose next item may go are in the line of that item's group, in the order in which they became
 * ready. Open groups of one priority take turns, so that neither a long lane nor a group with many lanes
 * starves the others; a lower priority that waits has every eighth turn. Every operation costs the same at
 * any number of lanes and of queued items; {@link reviewAll} looks at every group.
 */
export class Lanes<Item, Group> {
  readonly #options: LanesOptions<Item, Group>;
  readonly #lanes = new Map<string, Lane<Item, Group>>();
  /** Those in whose line a lane stands. */
  readonly #groups = new Map<Group, GroupLine<Item, Group>>();
  readonly #levels = PRIORITIES.map((): Level<Item, Group> => ({ groups: new LinkedList(), passedOver: 0 }));
  #queued = 0;

  constructor(options: LanesOptions<Item, Group>) {
    this.#options = options;
  }

  /** Items that wait; active ones are not counted. */
  get queued(): number {
    return this.#queued;
  }

  /** Adds to the end of a lane; an item of the lane "" waits for no other. */
  push(laneKey: string, item: Item): Place<Item> {
    let lane = laneKey === "" ? undefined : this.#lanes.get(laneKey);
    if (!lane) {
      lane = new Lane(laneKey);
      if (laneKey !== "") this.#lanes.set(laneKey, lane);
    }
    const place = new LanePlace(item, lane);
    lane.items.push(place);
    this.#queued++;
    if (!lane.holder && lane.items.first === place) this.#lineUp(lane);
    return place;
  }

  /** The item that {@link take} would give. */
  next(): Item | undefined {
    return this.#chosen()?.groups.first?.lanes.first?.items.first?.item;
  }

  /** The next item of a lane without an active one; the lane is held until {@link release} or {@link putBack}. */
  take(): Place<Item> | undefined {
    const level = this.#chosen();
    const group = level?.groups.first;
    const lane = group?.lanes.first;
    const place = lane?.items.shift();
    if (!place) return undefined;
    lane!.holder = place;
    this.#queued--;
    level!.groups.push(group!);
    this.#leave(lane!);
    for (const each of this.#levels) {
      if (each === level || each.groups.length === 0) each.passedOver = 0;
      else each.passedOver++;
    }
    return place;
  }

  /** Says that the item taken from there has ended, so that its successor may go. */
  release(place: Place<Item>): void {
    const { lane } = this.#known(place);
    if (lane.holder !== place) return;
    lane.holder = undefined;
    this.#goOn(lane);
  }

  /** Gives back an item that was taken: it is the next of its lane. */
  putBack(place: Place<Item>): void {
    const known = this.#known(place);
    const { lane } = known;
    if (lane.holder !== place) return;
    lane.holder = undefined;
    lane.items.unshift(known);
    this.#queued++;
    this.#lineUp(lane);
  }

  /** Forgets an item that waits; false when it does not. */
  remove(place: Place<Item>): boolean {
    const known = this.#known(place);
    const { lane } = known;
    const wasNext = !lane.holder && lane.items.first === known;
    if (!lane.items.remove(known)) return false;
    this.#queued--;
    if (wasNext) {
      this.#leave(lane);
      this.#goOn(lane);
    }
    return true;
  }

  /** To be called when a group may have been opened or closed or has another priority. */
  review(key: Group): void {
    const group = this.#groups.get(key);
    if (group) this.#enlist(group);
  }

  reviewAll(): void {
    for (const group of this.#groups.values()) this.#enlist(group);
  }

  #known(place: Place<Item>): LanePlace<Item, Group> {
    return place as LanePlace<Item, Group>;
  }

  #goOn(lane: Lane<Item, Group>): void {
    if (lane.items.length > 0) this.#lineUp(lane);
    else if (lane.key !== "") this.#lanes.delete(lane.key);
  }

  /** Puts a lane that has a waiting item and no active one at the end of the line of that item's group. */
  #lineUp(lane: Lane<Item, Group>): void {
    const key = this.#options.groupOf(lane.items.first!.item);
    let group = this.#groups.get(key);
    if (!group) {
      group = new GroupLine(key);
      this.#groups.set(key, group);
      this.#enlist(group);
    }
    group.lanes.push(lane);
    lane.group = group;
  }

  #leave(lane: Lane<Item, Group>): void {
    const group = lane.group!;
    lane.group = undefined;
    group.lanes.remove(lane);
    if (group.lanes.length > 0) return;
    group.list?.remove(group);
    this.#groups.delete(group.key);
  }

  /** Lets a group take its turns among those of its priority, if it is open; it keeps the turn that it has. */
  #enlist(group: GroupLine<Item, Group>): void {
    if (!this.#options.isOpen(group.key)) {
      group.list?.remove(group);
      return;
    }
    const { groups } = this.#levels[PRIORITIES.indexOf(this.#options.priorityOf(group.key))]!;
    if (group.list !== groups) groups.push(group);
  }

  /** Whose turn it is: who was passed over for too long, the lowest first, otherwise the highest that waits. */
  #chosen(): Level<Item, Group> | undefined {
    const waiting = (level: Level<Item, Group>): boolean => level.groups.length > 0;
    const overdue = this.#levels.findLast((level) => waiting(level) && level.passedOver >= PATIENCE);
    return overdue ?? this.#levels.find(waiting);
  }
}

/** An item's place in its lane, for {@link Lanes} to find it by. */
export interface Place<Item> {
  readonly item: Item;
}

class LanePlace<Item, Group> extends Linked<LanePlace<Item, Group>> implements Place<Item> {
  readonly item: Item;
  readonly lane: Lane<Item, Group>;

  constructor(item: Item, lane: Lane<Item, Group>) {
    super();
    this.item = item;
    this.lane = lane;
  }
}

class Lane<Item, Group> extends Linked<Lane<Item, Group>> {
  readonly key: string;
  readonly items = new LinkedList<LanePlace<Item, Group>>();
  /** In whose line it stands. */
  group: GroupLine<Item, Group> | undefined = undefined;
  /** The active items. */
  holder: Place<Item> | undefined = undefined;

  constructor(key: string) {
    super();
    this.key = key;
  }
}

class GroupLine<Item, Group> extends Linked<GroupLine<Item, Group>> {
  readonly key: Group;
  readonly lanes = new LinkedList<Lane<Item, Group>>();

  constructor(key: Group) {
    super();
    this.key = key;
  }
}

interface Level<Item, Group> {
  /** Open groups in whose line a lane stands. */
  readonly groups: LinkedList<GroupLine<Item, Group>>;
  passedOver: number;
}
