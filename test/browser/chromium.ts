/** Debian's browser, unless the environment names another. */
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
