import type { PresetSample } from "../../preset.ts";

const METADATA = { display_phone_number: "15550100001", phone_number_id: "200000000000001" };

const whatsApp = (value: object): PresetSample => ({
  payload: {
    object: "whatsapp_business_account",
    entry: [
      {
        id: "100000000000001",
        changes: [{ value: { messaging_product: "whatsapp", metadata: METADATA, ...value }, field: "messages" }],
      },
    ],
  },
});

const messaging = (object: string, item: object): PresetSample => ({
  payload: {
    object,
    entry: [
      {
        id: "300000000000001",
        time: 1795176000123,
        messaging: [
          {
            sender: { id: "400000000000001" },
            recipient: { id: "300000000000001" },
            timestamp: 1795176000000,
            ...item,
          },
        ],
      },
    ],
  },
});

/** Samples of WhatsApp, Messenger and Instagram. */
export const META_SAMPLES: Readonly<Record<string, PresetSample>> = {
  "whatsapp.message": whatsApp({
    contacts: [{ profile: { name: "Ada Lovelace" }, wa_id: "15550100002" }],
    messages: [
      {
        from: "15550100002",
        id: "wamid.EXAMPLE0000000001",
        timestamp: "1795176000",
        type: "text",
        text: { body: "Is my order on its way?" },
      },
    ],
  }),
  "whatsapp.status": whatsApp({
    statuses: [
      { id: "wamid.EXAMPLE0000000002", status: "delivered", timestamp: "1795176060", recipient_id: "15550100002" },
    ],
  }),
  "messenger.message": messaging("page", {
    message: {
      mid: "m_example0000000001",
      text: "Are you open on Sunday?",
      attachments: [{ type: "image", payload: { url: "https://cdn.example.com/door.jpg" } }],
    },
  }),
  "messenger.postback": messaging("page", {
    postback: { mid: "m_example0000000002", title: "Get started", payload: "GET_STARTED" },
  }),
  "instagram.message": messaging("instagram", {
    message: { mid: "aWdfexample0000000001", text: "What does the blue one cost?" },
  }),
  "instagram.comments": {
    payload: {
      object: "instagram",
      entry: [
        {
          id: "300000000000002",
          time: 1795176000,
          changes: [
            {
              field: "comments",
              value: {
                id: "500000000000001",
                from: { id: "400000000000002", username: "grace.example" },
                media: { id: "600000000000001", media_product_type: "FEED" },
                text: "When is it back in stock?",
              },
            },
          ],
        },
      ],
    },
  },
};
