/** `reveille doctor`. */
import { nameBlock } from "../../config/name-block.ts";
import type { CliIo } from "../cli-io.ts";
import { configurationFindings } from "./configuration.ts";
import type { DoctorFinding } from "./finding.ts";
import { nodeFinding } from "./node.ts";
import { stateFinding } from "./state.ts";
import { isolationFindings } from "./walls.ts";
import { untilSignal } from "../end-signals.ts";
import type { LocationOptions } from "../file-locations.ts";
import { printable } from "../printable.ts";

export interface DoctorOptions extends LocationOptions {
  readonly json?: boolean;
}

/**
 * Says what this machine and installation are fit for, and what keeps transforms in. Resolves with the
 * exit code: 1 when there is a problem, 0 also with warnings.
 */
export function doctor(options: DoctorOptions, io: CliIo): Promise<number> {
  return untilSignal(io, (interrupted) => examine(options, io, interrupted));
}

async function examine(options: DoctorOptions, io: CliIo, signal: AbortSignal): Promise<number> {
  const { gateway } = io;
  const load = { gateway, logger: io.createLogger(), signal };
  const { findings: ofConfiguration, use } = await configurationFindings(options, load);
  signal.throwIfAborted();
  const findings: readonly DoctorFinding[] = [
    nodeFinding(process.versions.node),
    ...ofConfiguration,
    stateFinding(gateway.locate(options).stateDir),
    ...(await isolationFindings(use)),
  ];
  const isWell = !findings.some(({ level }) => level === "problem");
  if (options.json === true) io.out(`${JSON.stringify({ ok: isWell, findings }, undefined, 2)}\n`);
  else for (const finding of findings) io.out(nameBlock(lineOf(finding), gateway.block));
  return isWell ? 0 : 1;
}

function lineOf({ level, about, message }: DoctorFinding): string {
  return `${level.padEnd(9)}${about.padEnd(15)}${printable(message)}\n`;
}
