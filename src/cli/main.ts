#!/usr/bin/env node
/** The program: wires the command line to its process. */
import { homedir } from "node:os";
import { EmbeddedCliGateway } from "./embedded/cli-gateway.ts";
import { addEmbeddedCommands } from "./embedded/cli-gateway.ts";
import { processIo } from "./cli-io.ts";
import { runCli } from "./run-cli.ts";

const gateway = new EmbeddedCliGateway({ env: process.env, homeDir: homedir() });
process.exit(await runCli(process.argv.slice(2), processIo(gateway), addEmbeddedCommands));
