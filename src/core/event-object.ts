/** What an event is about, and the text that it shows of it. */
export interface EventObject {
  /** The same for every event about it. */
  readonly id: string;
  /** Absent: what it shows is not known. */
  readonly text?: string;
}
