import { Agent, request } from "node:http";

export interface BurstAnswer {
  readonly status: number;
  readonly deliveryId: string | undefined;
  /** How long the caller waited for it. */
  readonly latencyMs: number;
}

/** Sends many calls over few connections, each as soon as the one before it on its connection was answered. */
export async function sendBurst(
  url: string,
  options: {
    readonly headers: Readonly<Record<string, string>>;
    readonly count: number;
    readonly connections: number;
    /** The payload of each call, from 0. */
    readonly payload: (number: number) => object;
  },
): Promise<BurstAnswer[]> {
  const { count, connections, payload, headers } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const answers: BurstAnswer[] = [];
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      answers[number] = await post(url, { headers, agent, body: JSON.stringify(payload(number)) });
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, send));
  } finally {
    agent.destroy();
  }
  return answers;
}

function post(
  url: string,
  { headers, agent, body }: { headers: Readonly<Record<string, string>>; agent: Agent; body: string },
): Promise<BurstAnswer> {
  const sentAt = performance.now();
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", reject);
        response.on("end", () => {
          const deliveryId = /"deliveryId":"([^"]+)"/.exec(text)?.[1];
          resolve({ status: response.statusCode ?? 0, deliveryId, latencyMs: performance.now() - sentAt });
        });
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}
