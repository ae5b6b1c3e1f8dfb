import semver from "semver";

/**
 * What the range that a plugin asks for has against a version of the plugin API; `undefined` when the
 * version meets it. Says which of the two is the older, where one is.
 */
export function refusePluginApi(range: string, has: string): string | undefined {
  // To the library a part that is blank is any version at all.
  if (range.split("||").some((part) => part.trim() === "") || semver.validRange(range) === null) {
    return `${JSON.stringify(range)} is not a version range; write one such as "^${has.replace(/\.\d+$/, "")}"`;
  }
  if (semver.satisfies(has, range)) return undefined;
  return `the plugin asks for plugin API ${range}, and this gateway has ${has}: ${advice(range, has)}`;
}

function advice(range: string, has: string): string {
  if (semver.gtr(has, range)) return "the plugin is the older one; install a newer version of it";
  if (semver.ltr(has, range))
    return "the gateway is the older one; update it, or install an older version of the plugin";
  return "install another version of the plugin";
}
