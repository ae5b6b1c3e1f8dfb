/**
 * The version of what plugins of this gateway are written against: the manifest, the class and the
 * options it is given, the host contract and the ingress's hooks. Semantic versioning; what 1.x keeps is
 * told in docs/writing-a-plugin.md.
 *
 * - 1.0: a manifest with a class.
 * - 1.1: `presets` in the manifest, and ranges as `pluginApi`.
 */
export const PLUGIN_API = "1.1.0";
