/** `reveille doctor`. */
import { reasonOf } from "../core/reason-of.ts";
import { mkdtempSync, rmdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { satisfies } from "semver";
import { ConfigError, configLines } from "../config/errors.ts";
import { qualifyKeys } from "../config/qualify-keys.ts";
import { describeIsolation } from "../transform/sandbox/isolation/describe.ts";
import { detectIsolation } from "../transform/sandbox/isolation/detect.ts";
import { probeIsolation } from "../transform/sandbox/isolation/probe.ts";
import type { IsolationReport } from "../transform/sandbox/isolation/describe.ts";
import { reviewConfig } from "./check-command.ts";
import { type CliIo, warningsOnly } from "./io.ts";
import {
  diskFindings,
  type DoctorFinding,
  gatewayFindings,
  liveFindings,
  modelFindings,
  senderFindings,
  setAsideFindings,
  confinementFindings,
} from "./doctor-gateway.ts";
import { untilSignal } from "./end-signals.ts";
import type { LocationOptions } from "./file-locations.ts";
import { loadConfiguration, type LoadedConfiguration, type LoadOptions } from "./load-configuration.ts";
import { printable } from "./terminal-text.ts";
import packageJson from "../../package.json" with { type: "json" };

/** The parts of the configuration that decide how much the isolation of transforms matters. */
export interface TransformUse {
  /** Mappings with a transform; `undefined`: there is no configuration, or none that can be used. */
  readonly count: number | undefined;
  readonly isolation: "process" | "none";
}

export interface ConfigurationFindings {
  /** Absent when there is no configuration, or none that is valid. */
  readonly loaded?: LoadedConfiguration;
  readonly findings: readonly DoctorFinding[];
  readonly use: TransformUse;
}

const UNKNOWN_USE: TransformUse = { count: undefined, isolation: "process" };

/** Finds out whether there is a configuration, and whether it is valid. */
export async function configurationFindings(
  options: LocationOptions,
  load: LoadOptions,
): Promise<ConfigurationFindings> {
  const { gateway } = load;
  const { configFile: file } = gateway.locate(options);
  if (!gateway.isConfigured(options)) {
    const message = `there is none at ${file}; write one with: ${gateway.setupCommand}`;
    return { findings: [configurationFinding("warning", message)], use: UNKNOWN_USE };
  }
  try {
    const loaded = await loadConfiguration(options, load);
    const { warnings, audit } = reviewConfig(loaded);
    const { mappings, transforms } = loaded.active.config;
    const found = warnings.length + audit.length;
    return {
      loaded,
      findings: [
        configurationFinding("ok", `${file} is valid`),
        ...(found === 0
          ? []
          : [configurationFinding("warning", `${found} could be better; see: ${gateway.program} check`)]),
        ...audit
          .filter(({ id }) => id === "hooks.all_three_accepted")
          .map(({ path, message }) => configurationFinding("warning", `${path}: ${message}`)),
        ...setAsideFindings(loaded),
      ],
      use: {
        count: mappings.filter(({ transform }) => transform !== undefined).length,
        isolation: transforms.isolation,
      },
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      findings: configLines(error.issues).map((message) => configurationFinding("problem", message)),
      use: UNKNOWN_USE,
    };
  }
}

function configurationFinding(level: DoctorFinding["level"], message: string): DoctorFinding {
  return { level, about: "configuration", message };
}

/** Read, write or search for anyone but the owner. */
const OTHERS_MODE = 0o077;

/** True when a gateway can write its state to a folder, and no one else can look at it. */
export function stateFinding(folder: string): DoctorFinding {
  let stats;
  try {
    stats = statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    return stateFolderFinding("problem", `${folder} cannot be looked at by this user: ${reasonOf(error)}`);
  }
  if (!stats) {
    const parent = nearestFolder(folder);
    return isWritable(parent)
      ? stateFolderFinding("ok", `${folder} is made at the first start`)
      : stateFolderFinding("problem", `${folder} cannot be made: ${parent} cannot be written to`);
  }
  if (!stats.isDirectory()) return stateFolderFinding("problem", `${folder} is not a folder`);
  if (!isWritable(folder)) return stateFolderFinding("problem", `${folder} cannot be written to`);
  if (process.platform !== "win32" && (stats.mode & OTHERS_MODE) !== 0) {
    return stateFolderFinding(
      "warning",
      `others than its owner may use ${folder}, which holds what was sent; chmod it to 700`,
    );
  }
  return stateFolderFinding("ok", `${folder} can be written to, by its owner alone`);
}

function stateFolderFinding(level: DoctorFinding["level"], message: string): DoctorFinding {
  return { level, about: "state folder", message };
}

function nearestFolder(missing: string): string {
  const parent = dirname(missing);
  return statSync(parent, { throwIfNoEntry: false }) || parent === missing ? parent : nearestFolder(parent);
}

/** Tried, since what a mode allows is not all that it takes: read-only file systems, quotas, foreign owners. */
function isWritable(folder: string): boolean {
  try {
    rmdirSync(mkdtempSync(join(folder, ".reveille-doctor-")));
    return true;
  } catch {
    return false;
  }
}

/** The wording for an isolation that exists only inside the process, where a module is as well. */
const BY_NAME = "by name only";

export interface ProbedIsolation {
  /** As the gateway logs them. */
  readonly words: string;
  readonly reports: readonly IsolationReport[];
}

export type ProbeIsolation = () => Promise<ProbedIsolation>;

/**
 * Tries the isolation of transforms on this machine, each kind for real, and reports its worth. Never
 * rejects: an isolation that cannot be tried is a finding too.
 */
export async function isolationFindings(
  use: TransformUse,
  tryWalls: ProbeIsolation = probeHere,
): Promise<readonly DoctorFinding[]> {
  try {
    const { words, reports } = await tryWalls();
    return [
      ...unconfinedFindings(use),
      probedFinding(words),
      ...reports.map((report) => isolationFinding(report, use)),
    ];
  } catch (error) {
    const reason = reasonOf(error);
    const message = `what keeps them in could not be tried: ${reason}`;
    return [...unconfinedFindings(use), { level: missingLevel(use), about: "transforms", message }];
  }
}

async function probeHere(): Promise<ProbedIsolation> {
  const isolation = await detectIsolation();
  return { words: describeIsolation(isolation), reports: await probeIsolation(isolation) };
}

function probedFinding(words: string): DoctorFinding {
  const message = `the isolation was tried on this machine (${words}); the log of a running gateway names the one that is active there`;
  return { level: "ok", about: "transforms", message };
}

function isolationFinding(
  { action: attempt, holds, by, detail, isOptional = false }: IsolationReport,
  use: TransformUse,
): DoctorFinding {
  const of = { about: "transforms", attempt: { cannot: attempt, holds, by } } as const;
  const seen = detail === undefined ? "" : ` (${detail})`;
  if (!holds) {
    const message = `can ${attempt}: nothing on this machine prevents it${seen}`;
    return { ...of, level: isOptional ? "warning" : missingLevel(use), message };
  }
  if (by !== BY_NAME) return { ...of, level: "ok", message: `cannot ${attempt}: ${by}` };
  const message = `cannot ${attempt}, but ${BY_NAME}: code that gets around Node's functions can${seen}`;
  return { ...of, level: "warning", message };
}

/** A missing isolation is a problem where there is something to isolate. */
function missingLevel({ count = 0, isolation }: TransformUse): "problem" | "warning" {
  return count > 0 && isolation === "process" ? "problem" : "warning";
}

function unconfinedFindings({ count, isolation }: TransformUse): readonly DoctorFinding[] {
  if (isolation === "process") return [];
  const message =
    "hooks.transforms.isolation is none: they run inside the gateway with all its rights, without any of these limits";
  return [{ level: count === 0 ? "ok" : "warning", about: "transforms", message }];
}

export interface DoctorOptions extends LocationOptions {
  /** Also asks each model for one word. */
  readonly live?: boolean;
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
  const load = { gateway, logger: warningsOnly(await io.createLogger()), signal };
  const { findings: ofConfiguration, use, loaded } = await configurationFindings(options, load);
  signal.throwIfAborted();
  const { stateDir } = gateway.locate(options);
  const findings: readonly DoctorFinding[] = [
    nodeFinding(process.versions.node),
    ...ofConfiguration,
    stateFinding(stateDir),
    ...(await diskFindings(stateDir)),
    ...(gateway.isConfigured(options) ? await gatewayFindings(gateway, options) : []),
    ...(loaded === undefined ? [] : await modelFindings((await gateway.modelEndpoints?.(options)) ?? [])),
    ...(loaded === undefined ? [] : confinementFindings(await gateway.tryConfinement?.(options))),
    ...(loaded === undefined || options.live !== true ? [] : liveFindings((await gateway.tryModels?.(options)) ?? [])),
    ...(loaded === undefined ? [] : await senderFindings(loaded)),
    ...(await isolationFindings(use)),
  ];
  const isWell = !findings.some(({ level }) => level === "problem");
  if (options.json === true) io.out(`${JSON.stringify({ ok: isWell, findings }, undefined, 2)}\n`);
  else for (const finding of joinWalls(findings)) io.out(qualifyKeys(lineOf(finding), gateway.block));
  return isWell ? 0 : 1;
}

/** All that holds by the same means is one line for people. */
function joinWalls(findings: readonly DoctorFinding[]): readonly DoctorFinding[] {
  const joined = new Map<string, DoctorFinding>();
  for (const finding of findings) {
    const { level, message, attempt } = finding;
    const isJoined = attempt?.holds === true && level === "ok";
    const key = isJoined ? `by ${attempt.by}` : message;
    const before = joined.get(key);
    if (!isJoined || before?.attempt === undefined) joined.set(key, finding);
    else {
      const cannot = `${before.attempt.cannot}, ${attempt.cannot}`;
      joined.set(key, { ...before, attempt: { ...attempt, cannot }, message: `cannot ${cannot}: ${attempt.by}` });
    }
  }
  return [...joined.values()];
}

function lineOf({ level, about, message }: DoctorFinding): string {
  return `${level.padEnd(9)}${about.padEnd(15)}${printable(message)}\n`;
}

/** Holds a version of Node to what the package asks for. */
export function nodeFinding(version: string): DoctorFinding {
  const range = packageJson.engines.node;
  const isFit = satisfies(version, range);
  const message = isFit ? version : `${version} is not one of ${range}, which this version of Reveille needs`;
  return { level: isFit ? "ok" : "problem", about: "node", message };
}
