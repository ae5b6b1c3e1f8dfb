import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FolderSnapshot } from "../../../../src/transform/folder/snapshot.ts";
import type { TakeSnapshotOptions } from "../../../../src/transform/folder/snapshot.ts";
import type { TransformsRoot } from "../../../../src/transform/loader/containment.ts";

/** A temporary folder with a transforms folder, what lies beside it, and a place for copies. */
export class TransformsFolder implements Disposable {
  readonly outer = realpathSync(mkdtempSync(join(tmpdir(), "reveille-folder-")));
  readonly root: TransformsRoot = { path: join(this.outer, "hooks", "transforms"), name: "hooks/transforms" };
  readonly workDir = join(this.outer, "state", "transforms");

  constructor(files: Readonly<Record<string, string>> = {}) {
    mkdirSync(this.root.path, { recursive: true });
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  [Symbol.dispose](): void {
    rmSync(this.outer, { recursive: true, force: true });
  }

  /** The absolute path of something in the folder. */
  at(path: string): string {
    return join(this.root.path, path);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync(target, this.at(path));
  }

  take(options: Partial<TakeSnapshotOptions> = {}): Promise<FolderSnapshot> {
    return FolderSnapshot.take(this.root, { workDir: this.workDir, ...options });
  }
}
