#!/usr/bin/env node
/** The program: wires the command line to its process. */
import { homedir } from "node:os";
import { EmbeddedCliGateway } from "./embedded-gateway.ts";
import { addEmbeddedCommands } from "./embedded-gateway.ts";
import { codeAfterOutput, processIo } from "./io.ts";
import { runCli } from "./run.ts";
import { translateStackTraces } from "./source-lines.ts";

const isBundled = import.meta.url.endsWith(".js");
if (isBundled) translateStackTraces();
const gateway = new EmbeddedCliGateway({ env: process.env, homeDir: homedir() });
const code = await runCli(process.argv.slice(2), processIo(gateway), addEmbeddedCommands);
process.exit(await codeAfterOutput(code));
