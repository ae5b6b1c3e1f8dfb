#!/usr/bin/env node
/* The command of the package. Every Node reads this file, so an old one names what to run in the place of a syntax error. */
"use strict";

var parts = process.versions.node.split(".").map(Number);
var fits = parts[0] === 24 ? parts[1] >= 16 : parts[0] === 26 ? parts[1] >= 1 : parts[0] > 26;

if (fits) {
  // To an old Node the word import is a syntax error, so it is in a text.
  Function("url", "return import(url)")(require("url").pathToFileURL(require("path").join(__dirname, "main.js")).href);
} else {
  console.error(
    "This is Node " +
      process.versions.node +
      ", and Reveille needs 24.16 or later, or 26.1 or later.\n" +
      "This command fetches a Node for it and runs it:\n\n" +
      ["  npx -y -p node@24 node", JSON.stringify(__filename)].concat(process.argv.slice(2)).join(" "),
  );
  process.exitCode = 1;
}
