/** Programs that print what the tools of `gateway.expose` print, and pass nothing on. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What `cloudflared tunnel --url` prints on standard error. */
export const cloudflaredOutput = (host: string): string => `
2026-11-25T12:00:00Z INF Thank you for trying Cloudflare Tunnel. Doing so, without a Cloudflare account, is a quick way to experiment and try it out. However, be aware that these account-less Tunnels have no uptime guarantee.
2026-11-25T12:00:00Z INF Requesting new quick Tunnel on trycloudflare.com...
2026-11-25T12:00:02Z INF +--------------------------------------------------------------------------------------------+
2026-11-25T12:00:02Z INF |  Your quick Tunnel has been created! Visit it at (it may take some time to be reachable):  |
2026-11-25T12:00:02Z INF |  https://${host}.trycloudflare.com                                   |
2026-11-25T12:00:02Z INF +--------------------------------------------------------------------------------------------+
2026-11-25T12:00:03Z INF Registered tunnel connection connIndex=0 location=fra03 protocol=quic`;

/** What it prints when it cannot reach its service. */
export const cloudflaredFailure = `
2026-11-25T12:00:00Z INF Requesting new quick Tunnel on trycloudflare.com...
failed to request quick Tunnel: Post "https://api.trycloudflare.com/tunnel": dial tcp: lookup api.trycloudflare.com: no such host`;

/** What `tailscale funnel` prints on standard output. */
export const tailscaleOutput = (host: string): string => `
Available on the internet:

https://${host}.ts.net/
|-- proxy http://127.0.0.1:3000

Press Ctrl+C to exit.`;

/** What it prints, and waits, where the network does not allow it. */
export const tailscaleRefusal = `
Funnel is not enabled on your tailnet.
To enable, visit:

         https://login.tailscale.com/f/funnel?node=nAbCdEfGh1CNTRL
`;

/** What `ngrok http --log stdout --log-format json` prints. */
export const ngrokOutput = (host: string): string => `
{"lvl":"info","msg":"no configuration paths supplied","t":"2026-11-25T12:00:00.1Z"}
{"lvl":"info","msg":"client session established","obj":"tunnels.session","t":"2026-11-25T12:00:01.1Z"}
{"addr":"http://127.0.0.1:3000","lvl":"info","msg":"started tunnel","name":"command_line","obj":"tunnels","t":"2026-11-25T12:00:01.2Z","url":"https://${host}.ngrok-free.app"}`;

/** The tools that a test has put into a folder, in which they note how they were called. */
export class FakeTools {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(this.#bin, { recursive: true });
  }

  get #bin(): string {
    return join(this.#folder, "bin");
  }

  /** The environment of a gateway that finds them. */
  get env(): Record<string, string> {
    return { PATH: `${this.#bin}:${process.env["PATH"]}`, HOME: this.#folder };
  }

  /** A tool that carries out `script`, after it has noted its process and its arguments. */
  add(name: string, script: string): void {
    const file = join(this.#bin, name);
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$$ $*" >> "$HOME/${name}.calls"\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** A tool that prints a text, starts another process, and stays. */
  addLasting(name: string, output: string, descriptor: 1 | 2 = 1): void {
    const text = join(this.#bin, `${name}.txt`);
    writeFileSync(text, `${output}\n`);
    const stay = `sleep 600 & echo $! >> "$HOME/${name}.children"; wait`;
    this.add(name, `cat '${text}' >&${descriptor}\n${stay}`);
  }

  /** The arguments of each start so far. */
  calls(name: string): string[] {
    return this.#lines(`${name}.calls`).map((line) => line.slice(line.indexOf(" ") + 1));
  }

  /** The processes of a tool, and those that they started, that are still there. */
  alive(name: string): number[] {
    const own = this.#lines(`${name}.calls`).map((line) => Number(line.split(" ", 1)[0]));
    return [...own, ...this.#lines(`${name}.children`).map(Number)].filter(isAlive);
  }

  #lines(name: string): string[] {
    const file = join(this.#folder, name);
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  }
}

/** A zombie that its parent has not taken yet is gone, too. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
