/** Name of the file in the state directory that holds the keys which senders deliver. */
export const SENDER_KEYS_FILE = "sender-keys.json";
