/** What the process that fills a disk reports. */
export interface FullDiskReport {
  /** The code with which opening was refused while not a byte was left. */
  readonly refusedToOpen: string;
  /** The different codes of refused calls. */
  readonly refusals: readonly string[];
  readonly acknowledgedWhenFull: number;
  /** Codes of refusals in the first round after room was made, by the same process. */
  readonly refusedAfterRoom: readonly string[];
  /** Acknowledged and not stored. */
  readonly missing: number;
  /** Stored and not acknowledged. */
  readonly unasked: number;
  /** Stored and not whole. */
  readonly broken: number;
  /** Times that the log could not be copied into the file. */
  readonly copyFailures: number;
  readonly integrity: string;
}
