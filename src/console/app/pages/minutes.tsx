import type { JSX } from "preact";
import type { DeliverySummary } from "../../../core/delivery.ts";

const MINUTES = 60;

interface Minute {
  readonly failed: number;
  readonly others: number;
}

/** Deliveries of each minute of the last hour, as a chart with its numbers behind it. */
export function Minutes({ deliveries }: { readonly deliveries: readonly DeliverySummary[] }): JSX.Element {
  const now = Math.floor(Date.now() / 60_000);
  const ages = deliveries.map(({ receivedAt, state }) => ({
    at: MINUTES - 1 - (now - Math.floor(Date.parse(receivedAt) / 60_000)),
    isFailed: state === "failed",
  }));
  const minutes = Array.from({ length: MINUTES }, (_, at): Minute => {
    const own = ages.filter((age) => age.at === at);
    const failed = own.filter(({ isFailed }) => isFailed).length;
    return { failed, others: own.length - failed };
  });
  const highest = Math.max(1, ...minutes.map(({ failed, others }) => failed + others));
  return (
    <figure>
      <figcaption>Deliveries a minute, at most {highest}; failed ones are at the bottom.</figcaption>
      <svg class="chart" viewBox={`0 0 ${MINUTES * 10} 100`} preserveAspectRatio="none" aria-hidden="true">
        {minutes.map(({ failed, others }, at) => (
          <g key={at}>
            <Bar at={at} from={0} to={failed / highest} class="failed" />
            <Bar at={at} from={failed / highest} to={(failed + others) / highest} class="" />
          </g>
        ))}
      </svg>
      <details>
        <summary>The numbers</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Minutes ago</th>
              <th scope="col">Failed</th>
              <th scope="col">Others</th>
            </tr>
          </thead>
          <tbody>
            {minutes.map(({ failed, others }, at) =>
              failed + others === 0 ? null : (
                <tr key={at}>
                  <td>{MINUTES - 1 - at}</td>
                  <td>{failed}</td>
                  <td>{others}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

interface BarProps {
  readonly at: number;
  /** Shares of the height, from the bottom. */
  readonly from: number;
  readonly to: number;
  readonly class: string;
}

function Bar({ at, from, to, class: name }: BarProps): JSX.Element {
  return <rect class={name} x={at * 10} width={8} y={100 - to * 100} height={(to - from) * 100} fill="currentColor" />;
}
