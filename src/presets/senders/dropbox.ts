import { itemLines, labeled, listAt, messageOf, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { counted, headline, lineAt } from "../message/headline.ts";

/** Nothing else says whose files have changed. */
const MAX_ACCOUNTS = 200;

/** Notifications of Dropbox: they name the accounts whose files have changed, and its API says what. */
export const dropbox = definePreset({
  name: "dropbox",
  title: "Dropbox",
  documentation: "https://www.dropbox.com/developers/reference/webhooks",
  // The next change of the same account is the same notification word for word: copies cannot be recognized.
  auth: { scheme: "signature", from: "header:x-dropbox-signature", content: "{body}", replaySeconds: 0 },
  secret: { label: "App secret", madeBy: "sender" },
  methods: ["GET"],
  handshakes: [
    {
      name: "challenge",
      method: "GET",
      verified: false,
      when: { "query:challenge": true },
      onlyKeys: ["challenge"],
      reply: { status: 200, text: "{query:challenge}" },
    },
  ],
  event: ({ payload }) => (listAt(payload, "list_folder.accounts").length > 0 ? "list_folder" : undefined),
  eventWhere: "list_folder, if accounts are named",
  ignored: "nothing. A notification names no actor",
  success: { statuses: "200, within 10 seconds", otherwise: "tries again for about ten minutes" },
  mapping: { name: "Dropbox", maxBodyBytes: 1_048_576 },
  message({ payload }) {
    const accounts = listAt(payload, "list_folder.accounts");
    return messageOf(
      headline(
        "Files have changed in",
        accounts.length === 0 ? "Dropbox" : counted(accounts.length, "Dropbox account"),
      ),
      itemLines(accounts, (account) => labeled("Account", lineAt(account, "")), MAX_ACCOUNTS),
      accounts.length === 0 ? dataLines(valueAt(payload, "list_folder")) : "",
      "Changes: POST https://api.dropboxapi.com/2/files/list_folder/continue with the account's last cursor",
    );
  },
  samples: {
    list_folder: {
      payload: {
        list_folder: { accounts: ["dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc"] },
        delta: { users: [12345678] },
      },
    },
  },
  setup: [
    "In the App Console open the app, and copy its {secret} into hooks.dropbox.secret.",
    "Start the gateway, and add {url} under Webhooks: Dropbox asks it for the challenge at once.",
  ],
});
