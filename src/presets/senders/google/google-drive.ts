import { labeled, messageOf } from "../../../core/payload-text.ts";
import { definePreset } from "../../define-preset.ts";
import { headline, lineAt, oneLine, phrase } from "../../message/headline.ts";
import { channelSample, googleChannel, pathPart } from "./google-channel.ts";

const FILE = "https://www.googleapis.com/drive/v3/files/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms?alt=json";
const CHANGES = "https://www.googleapis.com/drive/v3/changes?pageToken=4711&alt=json";

const HAPPENED: Readonly<Record<string, string>> = {
  add: "was added",
  remove: "was removed",
  update: "was changed",
  trash: "was moved to the trash",
  untrash: "was taken out of the trash",
};

/** Changes of a file in Google Drive, or of a whole drive: only that something changed. */
export const googleDrive = definePreset({
  name: "google-drive",
  title: "Google Drive",
  documentation: "https://developers.google.com/workspace/drive/api/guides/push",
  ...googleChannel,
  success: {
    statuses: "102, 200, 201, 202 or 204",
    otherwise: "500, 502, 503 and 504: tries again with growing delays; otherwise gives up",
  },
  ignored: "the sync message of a new channel. Google marks no bots",
  mapping: { name: "Google Drive" },
  message(context) {
    const { headers, event = "" } = context;
    const file = oneLine(pathPart(context, "files"));
    const happened = Object.hasOwn(HAPPENED, event) ? HAPPENED[event]! : "changed";
    return messageOf(
      file === "" ? "Google Drive: something changed" : headline("Google Drive: the file", file, happened),
      labeled("Changed", lineAt(headers, "x-goog-changed")),
      labeled("Resource", lineAt(headers, "x-goog-resource-uri")),
      labeled("Channel", lineAt(headers, "x-goog-channel-id")),
      labeled("The channel ends", lineAt(headers, "x-goog-channel-expiration")),
      headline(
        "What changed is in the Drive API:",
        phrase(file === "" ? "changes.list" : "files.get", "of this resource."),
      ),
    );
  },
  samples: {
    update: channelSample("update", FILE, { "x-goog-changed": "content,properties" }),
    change: channelSample("change", CHANGES),
    sync: channelSample("sync", FILE),
  },
  setup: [
    "Make up the {secret}, for example with openssl rand -hex 32, and set it as hooks.google-drive.secret.",
    'Watch a file: POST https://www.googleapis.com/drive/v3/files/<id>/watch, or a drive: POST https://www.googleapis.com/drive/v3/changes/watch?pageToken=<token>, with {"id":"<a new UUID>","type":"web_hook","address":"{url}","token":"<the token>"}',
    "A channel ends after a day (a file) or a week (a drive): watch again, with a new id, before its expiration.",
  ],
});
