import type { ConfigIssue } from "./config-error.ts";

/** What reading a configuration has found so far: what refuses it and what is only worth a look. */
export class Findings {
  readonly issues: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];

  refuse(path: string, message: string): void {
    this.issues.push({ path, message });
  }

  warn(path: string, message: string): void {
    this.warnings.push({ path, message });
  }
}
