import { promisify } from "node:util";

/** The objects that lose functions: those of this process, or in tests substitutes of them. */
export interface Confined {
  readonly process: NodeJS.Process;
  readonly global: object;
  /** A builtin module of Node, `undefined` where this version has none of the name. */
  readonly builtin: (name: string) => object | undefined;
}

// A module that replaces Reflect.apply later would otherwise be handed the functions that are guarded here.
const { apply } = Reflect;

const NETWORK = "a transform has no network (hooks.transforms.isolation)";

/** Of `process`: signals, ends, rights, native code, and what would show the handles of the event loop. */
const OF_PROCESS = (
  "kill _kill _debugProcess _debugEnd _startProfilerIdleNotifier _stopProfilerIdleNotifier " +
  "exit reallyExit abort execve send disconnect dlopen binding _linkedBinding openStdin loadEnvFile _rawDebug " +
  "chdir umask setuid seteuid setgid setegid setgroups initgroups _getActiveHandles _getActiveRequests " +
  "setUncaughtExceptionCaptureCallback addUncaughtExceptionCaptureCallback"
).split(" ");

/** By module; a dot leads into what it exports. */
const OF_MODULES: Readonly<Record<string, readonly string[]>> = {
  async_hooks: ["createHook"],
  child_process: ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork", "_forkChild"],
  inspector: ["open", "Session"],
  os: ["setPriority"],
  dgram: ["_createSocketHandle"],
  sqlite: ["DatabaseSync", "StatementSync", "Session", "backup"],
  trace_events: ["createTracing"],
  tty: ["ReadStream", "WriteStream"],
  v8: ["setFlagsFromString", "setHeapSnapshotNearHeapLimit", "writeHeapSnapshot", "getHeapSnapshot", "queryObjects"],
  wasi: ["WASI"],
  worker_threads: ["Worker"],
};

const NETWORK_OF_MODULES: Readonly<Record<string, readonly string[]>> = {
  dgram: ["Socket.prototype.bind", "Socket.prototype.connect", "Socket.prototype.send", "createSocket", "Socket"],
  // It would also answer with an open file whose number it gets.
  http2: ["connect", "createServer", "createSecureServer", "performServerHandshake"],
  net: ["Socket.prototype.connect", "Server.prototype.listen", "Server.prototype._listen2", "_createServerHandle"],
};

const QUESTIONS = /^(?:lookup|resolve|reverse)/;
const RESOLVERS = ["", "promises", "Resolver.prototype", "promises.Resolver.prototype"];

/** Of `fs`, what takes a number of an open file first. */
const BY_NUMBER =
  /^(?:(?:read|write|append)File|(?:read|write)v?|close|fstat|ftruncate|fsync|fdatasync|fchmod|fchown|futimes)(?:Sync)?$/;
/** Functions of `fs.promises` that use a handle of a file, whose number can be changed. */
const BY_HANDLE = ["open", "writeFile", "appendFile"];
/** Standard streams, and the channel to the gateway. */
const LAST_OWN_FILE = 3;

/**
 * Takes from a process what a transform has no business with: each of these functions now throws a sentence
 * that says so. Empties the environment. Importing a module never fails by it, since many a package imports
 * `node:http` at its top and never uses it.
 *
 * These are refusals by name, the second layer: they make the first attempt fail with a clear reason, on every
 * system. They hold against code that asks for a function where it lives. They do not hold against code that
 * finds another way to the same binding: a patched prototype can be bypassed with an instance that Node's
 * own code has made, and a later version of Node may have a new name
 * for an old function. What has to hold is done by others: files, processes, workers, addons and the
 * inspector are Node's permission model's, the network and other processes those of the namespaces
 * (`reveille doctor` says whether this machine has them), and time and memory the gateway's.
 *
 * `createRequire` and `node:vm` stay: they run code in this same process and read what it may read anyway.
 * So do `diagnostics_channel`, `node:test` and `async_hooks` without `createHook`: all they can show is what
 * the process's own modules do. The modules of one process are not isolated from each other.
 *
 * The functions that the process itself needs have to be read before. Not to be undone.
 */
export function confineProcess({ process, global, builtin }: Confined): void {
  for (const name of OF_PROCESS) refuse(process, name, missing(`process.${name}`));
  refuse(process.report, "getReport", missing("process.report.getReport"));
  refuse(process.report, "writeReport", missing("process.report.writeReport"));
  emptyEnvironment(process);
  for (const [module, paths] of Object.entries(OF_MODULES)) {
    for (const path of paths) refusePath(builtin(`node:${module}`), path, missing(`${module}.${path}`));
  }
  for (const [module, paths] of Object.entries(NETWORK_OF_MODULES)) {
    for (const path of paths) refusePath(builtin(`node:${module}`), path, NETWORK);
  }
  for (const path of RESOLVERS) refuseQuestions(memberAt(builtin("node:dns"), path));
  for (const name of ["WebSocket", "EventSource", "WebSocketStream"]) refuse(global, name, NETWORK);
  refuse(global, "fetch", NETWORK, () => Promise.reject(new Error(NETWORK)));
  protectOwnFiles(builtin("node:fs"));
  removeFileHandles(builtin("node:fs"));
}

function missing(name: string): string {
  return `${name} is not there for transforms`;
}

/** Puts something that only throws instead of a function, where there is one. */
function refuse(owner: object | undefined, name: string, sentence: string, instead?: () => unknown): void {
  if (owner === undefined || typeof Reflect.get(owner, name) !== "function") return;
  // Not an arrow function, which could not be called with `new`.
  const throwing = function (): never {
    throw new Error(sentence);
  };
  // Packages wrap such functions at their top, and would fail to if they could not be written.
  Object.defineProperty(owner, name, { value: instead ?? throwing, writable: true, configurable: true });
}

function refusePath(module: object | undefined, path: string, sentence: string): void {
  const at = path.lastIndexOf(".");
  refuse(memberAt(module, path.slice(0, Math.max(at, 0))), path.slice(at + 1), sentence);
}

function refuseQuestions(owner: object | undefined): void {
  for (const name of owner === undefined ? [] : Object.getOwnPropertyNames(owner)) {
    if (QUESTIONS.test(name)) refuse(owner, name, NETWORK);
  }
}

/** The object at a path such as `Socket.prototype`; the module itself for an empty one. */
function memberAt(module: object | undefined, path: string): object | undefined {
  let member: unknown = module;
  for (const name of path.split(".").filter((part) => part !== "")) {
    if ((typeof member !== "object" && typeof member !== "function") || member === null) return undefined;
    member = Reflect.get(member, name);
  }
  return typeof member === "object" || typeof member === "function" ? (member ?? undefined) : undefined;
}

function emptyEnvironment(process: NodeJS.Process): void {
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  // An object as any other: what a module writes there reaches no system.
  Object.defineProperty(process, "env", { value: {}, writable: true, configurable: true, enumerable: true });
}

/** Leaves no way to a `FileHandle`: `readFile` goes another, and what would open one is refused. */
function removeFileHandles(fs: object | undefined): void {
  const promises = memberAt(fs, "promises");
  const readFile: unknown = fs && Reflect.get(fs, "readFile");
  if (promises === undefined || typeof readFile !== "function") return;
  for (const name of BY_HANDLE) {
    const sentence = missing(`fs.promises.${name}`);
    refuse(promises, name, sentence, () => Promise.reject(new Error(sentence)));
  }
  const value = promisify(readFile as (...args: unknown[]) => void);
  Object.defineProperty(promises, "readFile", { value, writable: true, configurable: true, enumerable: true });
}

/**
 * Refuses the process's own files to functions that take the number of an open file.
 *
 * The check runs beside modules, so it calls nothing that they can replace: an index instead of
 * destructuring, which would call `Array.prototype[Symbol.iterator]`.
 */
function protectOwnFiles(fs: object | undefined): void {
  for (const name of fs === undefined ? [] : Object.getOwnPropertyNames(fs)) {
    const original: unknown = fs && Reflect.get(fs, name);
    if (fs === undefined || typeof original !== "function" || !BY_NUMBER.test(name)) continue;
    const checked = function (this: unknown, ...args: readonly unknown[]): unknown {
      const file = args[0];
      if (typeof file === "number" && file <= LAST_OWN_FILE) throw new Error(missing(`file descriptor ${file}`));
      return apply(original, this, args) as unknown;
    };
    // promisify() looks for this, among others.
    const { prototype: _, ...details } = Object.getOwnPropertyDescriptors(original);
    Object.defineProperties(checked, details);
    Object.defineProperty(fs, name, { value: checked, writable: true, configurable: true, enumerable: true });
  }
}
