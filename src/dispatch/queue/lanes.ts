import { randomInt } from "node:crypto";
import type { Priority } from "../../config/run.ts";
import { Columns } from "./columns.ts";
import { HashIndex, hashText } from "./hash-index.ts";
import { Linked, LinkedList } from "./linked-list.ts";

/** From the one that goes first to the one that waits. */
const PRIORITIES: readonly Priority[] = ["high", "normal", "low"];

/** Turns that may pass over a priority that waits; the next one is its own. */
const PATIENCE = 7;

/** Where an item stands, in its lane or as its active one: never 0, and another's once it has ended. */
export type Place = number;

export interface LanesOptions<Group> {
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
 *
 * An item is the number of its place, and 16 bytes; a lane is 32 bytes, and known by 64 bits of its key's hash, under
 * seeds of this process: two keys that had the same would wait for each other.
 */
export class Lanes<Group> {
  readonly #options: LanesOptions<Group>;
  readonly #places = new Columns(["lane", "group", "before", "after"]);
  readonly #lanes = new Columns(["hash", "check", "first", "last", "holder", "line", "before", "after"]);
  readonly #lanesByKey = new HashIndex();
  /** By number, from 1 on; those of which an item stands somewhere. */
  readonly #groups: (GroupLine<Group> | undefined)[] = [undefined];
  /** Numbers of groups that are gone. */
  readonly #freeGroups: number[] = [];
  readonly #groupsByKey = new Map<Group, GroupLine<Group>>();
  readonly #levels = PRIORITIES.map((): Level<Group> => ({ groups: new LinkedList(), passedOver: 0 }));
  readonly #seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const;
  #queued = 0;

  constructor(options: LanesOptions<Group>) {
    this.#options = options;
  }

  /** Items that wait; active ones are not counted. */
  get queued(): number {
    return this.#queued;
  }

  /**
   * Adds to the end of a lane; an item of the lane "" waits for no other. Items of a group share a priority and can be
   * held back together.
   */
  push(laneKey: string, group: Group): Place {
    const lane = this.#laneOf(laneKey);
    const place = this.#places.take();
    const line = this.#groupOf(group);
    line.places++;
    this.#places.of.lane[place] = lane;
    this.#places.of.group[place] = line.number;
    const { first, last, holder } = this.#lanes.of;
    this.#link(place, { before: last[lane]!, after: 0 });
    this.#queued++;
    if (holder[lane] === 0 && first[lane] === place) this.#lineUp(lane);
    return place;
  }

  groupOf(place: Place): Group {
    return this.#groups[this.#places.of.group[place]!]!.key;
  }

  /** The place that {@link take} would give. */
  next(): Place | undefined {
    const lane = this.#chosen()?.groups.first?.firstLane;
    return lane === undefined ? undefined : this.#lanes.of.first[lane];
  }

  /** The next item of a lane without an active one; the lane is held until {@link release} or {@link putBack}. */
  take(): Place | undefined {
    const level = this.#chosen();
    const group = level?.groups.first;
    if (!group) return undefined;
    const lane = group.firstLane;
    const place = this.#lanes.of.first[lane]!;
    this.#unlink(place);
    this.#lanes.of.holder[lane] = place;
    this.#queued--;
    level.groups.push(group);
    this.#leave(lane);
    for (const each of this.#levels) {
      if (each === level || each.groups.length === 0) each.passedOver = 0;
      else each.passedOver++;
    }
    return place;
  }

  /** Says that the item taken from there has ended, so that its successor may go. */
  release(place: Place): void {
    const lane = this.#places.of.lane[place]!;
    if (this.#lanes.of.holder[lane] !== place) return;
    this.#lanes.of.holder[lane] = 0;
    this.#free(place);
    this.#goOn(lane);
  }

  /** Gives back an item that was taken: it is the next of its lane. */
  putBack(place: Place): void {
    const lane = this.#places.of.lane[place]!;
    const { holder, first } = this.#lanes.of;
    if (holder[lane] !== place) return;
    holder[lane] = 0;
    this.#link(place, { before: 0, after: first[lane]! });
    this.#queued++;
    this.#lineUp(lane);
  }

  /** Forgets an item that waits; false when it does not. */
  remove(place: Place): boolean {
    const lane = this.#places.of.lane[place]!;
    const { holder, first } = this.#lanes.of;
    if (lane === 0 || holder[lane] === place) return false;
    const wasNext = holder[lane] === 0 && first[lane] === place;
    this.#unlink(place);
    this.#queued--;
    if (wasNext) {
      this.#leave(lane);
      this.#goOn(lane);
    }
    this.#free(place);
    return true;
  }

  /** To be called when a group may have been opened or closed or has another priority. */
  review(key: Group): void {
    const group = this.#groupsByKey.get(key);
    if (group) this.#enlist(group);
  }

  reviewAll(): void {
    for (const group of this.#groupsByKey.values()) this.#enlist(group);
  }

  #laneOf(key: string): number {
    if (key === "") return this.#lanes.take();
    const hash = hashText(key, this.#seeds[0]);
    // A lane without a key has 0 there.
    const check = (hashText(key, this.#seeds[1]) | 1) >>> 0;
    const known = this.#lanesByKey.find(hash, (lane) => this.#lanes.of.check[lane] === check);
    if (known !== 0) return known;
    const lane = this.#lanes.take();
    this.#lanes.of.hash[lane] = hash;
    this.#lanes.of.check[lane] = check;
    this.#lanesByKey.add(hash, lane);
    return lane;
  }

  #groupOf(key: Group): GroupLine<Group> {
    let group = this.#groupsByKey.get(key);
    if (!group) {
      group = new GroupLine(key, this.#freeGroups.pop() ?? this.#groups.length);
      this.#groups[group.number] = group;
      this.#groupsByKey.set(key, group);
    }
    return group;
  }

  #free(place: Place): void {
    const group = this.#groups[this.#places.of.group[place]!]!;
    this.#places.free(place);
    if (--group.places > 0) return;
    this.#groupsByKey.delete(group.key);
    this.#groups[group.number] = undefined;
    this.#freeGroups.push(group.number);
  }

  #link(place: Place, { before, after }: { readonly before: Place; readonly after: Place }): void {
    const { of } = this.#places;
    const { first, last } = this.#lanes.of;
    const lane = of.lane[place]!;
    of.before[place] = before;
    of.after[place] = after;
    if (before === 0) first[lane] = place;
    else of.after[before] = place;
    if (after === 0) last[lane] = place;
    else of.before[after] = place;
  }

  #unlink(place: Place): void {
    const { of } = this.#places;
    const { first, last } = this.#lanes.of;
    const lane = of.lane[place]!;
    const [before, after] = [of.before[place]!, of.after[place]!];
    if (before === 0) first[lane] = after;
    else of.after[before] = after;
    if (after === 0) last[lane] = before;
    else of.before[after] = before;
    of.before[place] = 0;
    of.after[place] = 0;
  }

  #goOn(lane: number): void {
    const { first, hash, check } = this.#lanes.of;
    if (first[lane] !== 0) {
      this.#lineUp(lane);
      return;
    }
    if (check[lane] !== 0) this.#lanesByKey.delete(hash[lane]!, lane);
    this.#lanes.free(lane);
  }

  /** Puts a lane that has a waiting item and no active one at the end of the line of that item's group. */
  #lineUp(lane: number): void {
    const { first, line, before, after } = this.#lanes.of;
    const group = this.#groups[this.#places.of.group[first[lane]!]!]!;
    if (group.firstLane === 0) this.#enlist(group, true);
    line[lane] = group.number;
    before[lane] = group.lastLane;
    if (group.lastLane === 0) group.firstLane = lane;
    else after[group.lastLane] = lane;
    group.lastLane = lane;
  }

  #leave(lane: number): void {
    const { line, before, after } = this.#lanes.of;
    const group = this.#groups[line[lane]!]!;
    const [previous, next] = [before[lane]!, after[lane]!];
    if (previous === 0) group.firstLane = next;
    else after[previous] = next;
    if (next === 0) group.lastLane = previous;
    else before[next] = previous;
    line[lane] = 0;
    before[lane] = 0;
    after[lane] = 0;
    if (group.firstLane === 0) group.list?.remove(group);
  }

  /** Lets a group with a lane in its line take its turns among those of its priority, if it is open; it keeps the turn that it has. */
  #enlist(group: GroupLine<Group>, hasLane = group.firstLane !== 0): void {
    if (!hasLane || !this.#options.isOpen(group.key)) {
      group.list?.remove(group);
      return;
    }
    const { groups } = this.#levels[PRIORITIES.indexOf(this.#options.priorityOf(group.key))]!;
    if (group.list !== groups) groups.push(group);
  }

  /** Whose turn it is: who was passed over for too long, the lowest first, otherwise the highest that waits. */
  #chosen(): Level<Group> | undefined {
    const waiting = (level: Level<Group>): boolean => level.groups.length > 0;
    const overdue = this.#levels.findLast((level) => waiting(level) && level.passedOver >= PATIENCE);
    return overdue ?? this.#levels.find(waiting);
  }
}

class GroupLine<Group> extends Linked<GroupLine<Group>> {
  readonly key: Group;
  readonly number: number;
  /** Places of its items, those of active ones among them. */
  places = 0;
  /** Of the lanes that stand in its line; 0: none does. */
  firstLane = 0;
  lastLane = 0;

  constructor(key: Group, number: number) {
    super();
    this.key = key;
    this.number = number;
  }
}

interface Level<Group> {
  /** Open groups in whose line a lane stands. */
  readonly groups: LinkedList<GroupLine<Group>>;
  passedOver: number;
}
