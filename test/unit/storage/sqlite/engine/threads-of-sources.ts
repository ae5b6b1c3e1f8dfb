/** Opens the file of its argument eight times, two at once, from the sources; says `threads` before the first. */
import { SqliteDatabase } from "../../../../../src/storage/sqlite/engine/database.ts";

const [folder = ""] = process.argv.slice(2);
const modules = [new URL("notes-module.ts", import.meta.url)];

process.stdout.write("threads\n");
for (let round = 0; round < 4; round++) {
  const opened = await Promise.all(
    ["a", "b"].map((name) => SqliteDatabase.open({ file: `${folder}/${name}`, modules })),
  );
  await Promise.all(opened.map((database) => database.close()));
}
