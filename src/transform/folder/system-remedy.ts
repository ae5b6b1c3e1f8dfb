const TOO_MANY_FILES = "allow the gateway more open files (ulimit -n)";
const NO_ROOM = "make room on the disk of the gateway's state folder";
const NOT_ALLOWED = "let the gateway's user write to its state folder";

const REMEDIES: Readonly<Record<string, string>> = {
  EMFILE: TOO_MANY_FILES,
  ENFILE: "too many files are open on this machine; close programs, or allow more",
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: NOT_ALLOWED,
  ENAMETOOLONG: "shorten the names in it, or keep the gateway's state in a folder with a shorter path",
  EIO: "look at the disks; the system's log tells more",
};

/** Says what to do about an error of the system that copying has met, by its code. */
export function systemRemedy(code: string): string {
  return REMEDIES[code] ?? "look at the folder and at the gateway's state folder, and try again";
}
