/** Locks of Emacs, which are links to nothing; copies that editors keep; what Vim and macOS leave while they work. */
const PATTERN = /^(?:\.#.*|#.*#|.*~|.*\.sw[opx]|4913|\.DS_Store)$/s;

/** Tells by its name whether a file of the folder is an editor's own, which comes and goes beside what is edited. */
export function isEditorFile(name: string): boolean {
  return PATTERN.test(name);
}
