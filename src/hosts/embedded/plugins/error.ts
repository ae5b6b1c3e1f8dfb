/** Thrown for a plugin that cannot be used; each message names the file and says what to change. */
export class PluginError extends Error {
  override readonly name = "PluginError";
  readonly messages: readonly string[];

  constructor(messages: string | readonly string[], options?: ErrorOptions) {
    const list = typeof messages === "string" ? [messages] : messages;
    super(list.join("\n"), options);
    this.messages = list;
  }
}
