/** One row for each release in bench/HISTORY.md: running the benchmark again replaces the row of the same version. */
import { readFile, writeFile } from "node:fs/promises";
import type { CallFigures } from "./calls.ts";
import type { WeightFigures } from "./weight.ts";

const file = new URL("HISTORY.md", import.meta.url);
const HEAD = `# The benchmark, release by release

\`npm run bench\` writes the row of the version in package.json. The machines differ: compare ratios.

| version | date | mapped call of the bare server | CPU µs a call | runs/s | idle MiB | ready s | bytes a delivery |
|---|---|---|---|---|---|---|---|`;

export async function recordHistory(today: string, figures: CallFigures & WeightFigures): Promise<void> {
  const about = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  const written = await readFile(file, "utf8").catch(() => "");
  const rows = written.split("\n").filter((line) => /^\| \d/.test(line) && !line.startsWith(`| ${about.version} |`));
  const cells = [
    about.version,
    today,
    figures.ratio.toFixed(2),
    figures.cpuMicros.toFixed(1),
    Math.round(figures.runsPerSecond).toLocaleString("en"),
    figures.idleMiB.toFixed(0),
    figures.startSeconds.toFixed(2),
    Math.round(figures.bytesPerDelivery).toLocaleString("en"),
  ];
  await writeFile(file, `${[HEAD, ...rows, `| ${cells.join(" | ")} |`].join("\n")}\n`);
}
