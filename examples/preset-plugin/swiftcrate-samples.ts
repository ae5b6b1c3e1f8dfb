/** Calls as Swiftcrate makes them. */
const parcel = {
  number: "SC-4821-0077",
  from: "Corner shop",
  to: "Ada Park, Elm Street 4",
  url: "https://swiftcrate.example.com/track/SC-4821-0077",
};
const courier = { name: "Noor", kind: "person" };

export const samples = {
  "parcel.delivered": {
    payload: { id: "ntf_01", type: "parcel.delivered", parcel, actor: courier, place: "handed over at the door" },
  },
  "parcel.failed": {
    payload: { id: "ntf_02", type: "parcel.failed", parcel, actor: courier, reason: "Nobody was at home." },
  },
  "parcel.scanned": {
    payload: {
      id: "ntf_03",
      type: "parcel.scanned",
      parcel,
      actor: { name: "Sorter 7", kind: "machine" },
      place: "Hub North",
    },
  },
  ping: { payload: { id: "ntf_04", type: "ping" } },
};
