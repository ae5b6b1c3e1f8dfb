import { describe, expect, it } from "vitest";
import { hubspot } from "../../../../src/presets/senders/hubspot.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";

const base = {
  eventId: 1,
  subscriptionId: 2,
  portalId: 3,
  occurredAt: 4,
  objectId: 5,
  subscriptionType: "contact.creation",
};
const read = (...events: readonly unknown[]) => readSample(hubspot, { payload: events });

describe("hubspot", () => {
  it.each(Object.entries(hubspot.samples))(
    "names the event of its sample %s, and an id for all of it",
    (name, sample) => {
      const { event, deliveryId, skip, answer } = readSample(hubspot, sample);
      expect({ event, skip, answer }).toEqual({ event: name, skip: undefined, answer: undefined });
      expect(deliveryId).toMatch(/^\d+-\d+-\d+-\d+$|^sha256-[0-9a-f]{64}$/);
    },
  );

  it("names every event of a request that carries several", () => {
    expect(read(base, { ...base, subscriptionType: "deal.deletion" }, base).event).toBe(
      "contact.creation+deal.deletion",
    );
  });

  it("has the same id when HubSpot tries again", () => {
    expect(read(base, { ...base, attemptNumber: 3 }).deliveryId).toBe(
      read(base, { ...base, attemptNumber: 4 }).deliveryId,
    );
  });

  it("has another id for the same event id of another object", () => {
    expect(read(base).deliveryId).not.toBe(read({ ...base, objectId: 6 }).deliveryId);
  });

  // HubSpot signs the time of each try, so only the id recognizes one.
  it.each([
    ["contact.associationChange", { fromObjectId: 5, toObjectId: 9 }, { toObjectId: 10 }],
    ["contact.merge", { primaryObjectId: 5, mergedObjectIds: [6] }, { primaryObjectId: 7 }],
  ])("has an id for %s, which names its objects otherwise", (subscriptionType, objects, others) => {
    const event = { ...base, objectId: undefined, subscriptionType, ...objects };
    const { deliveryId } = read(event, base);
    expect(deliveryId).toBeDefined();
    expect(read({ ...event, attemptNumber: 1 }, base).deliveryId).toBe(deliveryId);
    expect(read({ ...event, ...others }, base).deliveryId).not.toBe(deliveryId);
  });

  it("has no id for a request in which an event has none", () => {
    expect(read(base, { ...base, eventId: undefined }).deliveryId).toBeUndefined();
  });

  it("gives the change, with old and new value and actor", () => {
    expect(readSample(hubspot, hubspot.samples["deal.propertyChange"]!).message).toBe(
      [
        "2 changes in HubSpot:",
        "Deal 902 has dealstage set to closedwon (by userId:77, CRM_UI) https://app.hubspot.com/contacts/62515/record/0-3/902",
        "Deal 902 has amount set to 4900 (by userId:77, CRM_UI) https://app.hubspot.com/contacts/62515/record/0-3/902",
      ].join("\n"),
    );
  });

  it.each([
    ["contact.creation", {}, "Contact 5 was created"],
    ["company.deletion", {}, "Company 5 was deleted"],
    ["ticket.restore", {}, "Ticket 5 was restored"],
    ["contact.merge", {}, "Contact 5 was merged"],
    ["contact.privacyDeletion", {}, "Contact 5 was deleted for privacy"],
    ["deal.associationChange", { toObjectId: 9 }, "Deal 5 changed its association with 9"],
    [
      "deal.associationChange",
      {
        objectId: undefined,
        fromObjectId: 5,
        toObjectId: 9,
        associationRemoved: true,
        associationType: "DEAL_TO_CONTACT",
      },
      "Deal 5 lost its association with 9 (deal to contact)",
    ],
    [
      "object.associationChange",
      {
        objectId: undefined,
        fromObjectTypeId: "0-3",
        fromObjectId: 5,
        toObjectTypeId: "0-1",
        toObjectId: 9,
        associationRemoved: false,
      },
      "Deal 5 got an association with contact 9",
    ],
    [
      "contact.merge",
      { objectId: undefined, primaryObjectId: 5, mergedObjectIds: [6, 7], newObjectId: 8 },
      "Contact 8 was merged from 5, 6, 7",
    ],
    ["contact.propertyChange", { propertyName: "phone", propertyValue: "" }, "Contact 5 lost its phone"],
    ["conversation.newMessage", { messageId: "m" }, "Conversation 5 has a new message m"],
    ["line_item.archived", {}, "Line item 5 was archived"],
    ["object.creation", { objectTypeId: "0-3" }, "Deal 5 was created"],
    ["object.creation", { objectTypeId: "2-77" }, "Object 2 77 5 was created"],
  ])("says of %s %j: %s", (subscriptionType, further, text) => {
    expect(read({ ...base, ...further, subscriptionType, portalId: undefined }).message).toBe(text);
  });

  it("takes a change by the webhook's own app for the agent's", () => {
    const own = { ...base, appId: 54321, changeSource: "INTEGRATION", sourceId: "54321" };
    expect(read(own).sender).toEqual({ name: "54321", id: "INTEGRATION", bot: true, own: true });
  });

  it.each(["API", "INTEGRATION", "INTEGRATIONS_PLATFORM"])("takes a change by %s of another app for news", (source) => {
    const other = { ...base, appId: 54321, changeSource: source, sourceId: "62515" };
    expect(read(other).sender).toEqual({ name: "62515", id: source, bot: false });
    expect(read({ ...other, sourceId: undefined }).sender).toEqual({ name: source, bot: false });
  });

  it("names no one when several apps or people made the changes", () => {
    const program = { ...base, appId: 1, changeSource: "INTEGRATION", sourceId: "1" };
    expect(read(program, { ...program, sourceId: "2" }).sender).toBeUndefined();
    expect(read(program, { ...base, changeSource: "CRM_UI", sourceId: "userId:7" }).sender).toBeUndefined();
  });

  it("knows a person by the id of the user", () => {
    expect(read({ ...base, changeSource: "CRM_UI", sourceId: "userId:7" }).sender).toEqual({
      name: "userId:7",
      id: "CRM_UI",
      bot: false,
    });
  });

  it("reads a request that is no list as one event", () => {
    const { event, message } = readSample(hubspot, { payload: { ...base, portalId: 3 } });
    expect({ event, message }).toEqual({
      event: "contact.creation",
      message: "Contact 5 was created https://app.hubspot.com/contacts/3/record/0-1/5",
    });
  });

  it("lists the fields of what it has no words for", () => {
    expect(readSample(hubspot, { payload: { portalId: 3 } }).message).toBe("HubSpot event\nportalId: 3");
  });

  it("shows twenty changes and counts the rest", () => {
    const lines = read(...Array.from({ length: 100 }, () => base)).message.split("\n");
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([22, "100 changes in HubSpot:", "... and 80 more"]);
  });
});
