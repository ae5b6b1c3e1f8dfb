import { describe, expect, it } from "vitest";
import { openai } from "../../../../src/presets/senders/openai.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset openai", () => {
  itReadsSamples(openai, {
    "response.completed": {
      event: "response.completed",
      message: [
        "OpenAI: response completed resp_1007example",
        "Read it at: https://api.openai.com/v1/responses/resp_1007example",
      ],
    },
    "batch.failed": {
      event: "batch.failed",
      message: [
        "OpenAI: batch failed batch_1007example",
        "Read it at: https://api.openai.com/v1/batches/batch_1007example",
      ],
    },
    "fine_tuning.job.succeeded": {
      event: "fine_tuning.job.succeeded",
      message: [
        "OpenAI: fine tuning job succeeded ftjob_1007example",
        "Read it at: https://api.openai.com/v1/fine_tuning/jobs/ftjob_1007example",
      ],
    },
    "realtime.call.incoming": {
      event: "realtime.call.incoming",
      message: [
        "OpenAI: realtime call incoming rtc_1007example",
        "From: sip:+15550100@sip.example.com",
        "To: sip:+15550199@sip.example.com",
      ],
    },
  });
});

describe("messages of OpenAI", () => {
  it("link to no place for an invalid id", () => {
    const payload = { type: "response.completed", data: { id: "../models?x=1" } };
    expect(readSample(openai, { payload }).message).toBe("OpenAI: response completed ../models?x=1\nid: ../models?x=1");
  });

  it("list the data of events without a place", () => {
    const payload = { type: "agent.session.idle", data: { session_id: "sess_1", agent: null } };
    expect(readSample(openai, { payload }).message).toBe("OpenAI: agent session idle sess_1\nsession_id: sess_1");
  });

  it("leave out the parties of a call without headers", () => {
    const payload = { type: "realtime.call.incoming", data: { call_id: "rtc_1", sip_headers: [null, { name: 7 }] } };
    expect(readSample(openai, { payload }).message).toBe("OpenAI: realtime call incoming rtc_1");
  });
});
