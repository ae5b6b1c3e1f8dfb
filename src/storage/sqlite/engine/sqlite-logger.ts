/** The part of the host's logger that the database uses; this layer knows no host. */
export interface SqliteLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
