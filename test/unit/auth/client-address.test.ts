import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import fc from "fast-check";
import proxyAddr from "proxy-addr";
import { describe, expect, test } from "vitest";
import { compileClientAddress, lockoutKey, UNKNOWN_ADDRESS } from "../../../src/auth/client-address.ts";

const PROXIES = ["127.0.0.1", "::1", "10.0.0.0/8", "2001:db8:ffff::/48"];
const behind = compileClientAddress(PROXIES);
const direct = compileClientAddress([]);

describe("without trusted proxies", () => {
  test("the client is the peer of the socket, whatever X-Forwarded-For says", () => {
    expect(direct("203.0.113.7", "198.51.100.1")).toBe("203.0.113.7");
    expect(direct("2001:db8::7", "198.51.100.1")).toBe("2001:db8::7");
  });

  test("an IPv4-mapped IPv6 address is folded to IPv4", () => {
    expect(direct("::ffff:203.0.113.7", undefined)).toBe("203.0.113.7");
  });

  test("the zone of a link-local address is left out", () => {
    expect(direct("fe80::1%eth0", undefined)).toBe("fe80::1");
  });

  test("a socket without an address is unknown", () => {
    expect(direct(undefined, "198.51.100.1")).toBe(UNKNOWN_ADDRESS);
    expect(direct("", undefined)).toBe("unknown");
  });
});

describe("behind trusted proxies", () => {
  test("the header of a peer that is not trusted is ignored", () => {
    expect(behind("203.0.113.7", "198.51.100.1")).toBe("203.0.113.7");
    expect(behind(undefined, "198.51.100.1")).toBe(UNKNOWN_ADDRESS);
  });

  test("the client is what the proxy appended at the right, never the leftmost hop", () => {
    expect(behind("127.0.0.1", "198.51.100.1, 203.0.113.7")).toBe("203.0.113.7");
    expect(behind("127.0.0.1", "127.0.0.1, 10.1.1.1, 203.0.113.7")).toBe("203.0.113.7");
  });

  test("trusted hops are skipped from the right", () => {
    expect(behind("127.0.0.1", "198.51.100.1,203.0.113.7, 10.0.0.2 ,10.0.0.3")).toBe("203.0.113.7");
    expect(behind("::1", "203.0.113.7, 2001:db8:ffff::5")).toBe("203.0.113.7");
  });

  test("a mapped peer and mapped hops count as the IPv4 addresses that they are", () => {
    expect(behind("::ffff:127.0.0.1", "::ffff:203.0.113.7, ::ffff:10.0.0.2")).toBe("203.0.113.7");
    expect(behind("127.0.0.1", "0:0:0:0:0:FFFF:CB00:7107")).toBe("203.0.113.7");
  });

  test("the IPv4 part of an IPv6 hop is read with all its bytes", () => {
    expect(behind("127.0.0.1", "64:ff9b::198.51.100.7")).toBe("64:ff9b::c633:6407");
  });

  test("when all hops are trusted the farthest is the client", () => {
    expect(behind("127.0.0.1", "10.0.0.1, 10.0.0.2")).toBe("10.0.0.1");
  });

  test("without the header the proxy itself is the client", () => {
    expect(behind("127.0.0.1", undefined)).toBe("127.0.0.1");
    expect(behind("127.0.0.1", "")).toBe("127.0.0.1");
  });

  test("empty elements of the list are skipped", () => {
    expect(behind("127.0.0.1", ", 203.0.113.7,, 10.0.0.2 , ")).toBe("203.0.113.7");
    expect(behind("127.0.0.1", " , ,")).toBe("127.0.0.1");
  });

  test.each(["unknown", "_hidden", "0x7f.1", "203.0.113", "203.0.113.07", "203.0.113.7:", "[203.0.113.7", "a b"])(
    "a hop that is no address stops the walk at the proxy: %s",
    (hop) => {
      expect(behind("127.0.0.1", hop)).toBe("127.0.0.1");
      expect(behind("127.0.0.1", `203.0.113.7, ${hop}, 10.0.0.2`)).toBe("127.0.0.1");
      expect(behind("127.0.0.1", `${hop}, 203.0.113.7`)).toBe("203.0.113.7");
    },
  );

  test("a port behind a hop is left out", () => {
    expect(behind("127.0.0.1", "203.0.113.7:4711, 10.0.0.2:80")).toBe("203.0.113.7");
    expect(behind("127.0.0.1", "[2001:DB8::0:7]:4711")).toBe("2001:db8::7");
    expect(behind("127.0.0.1", "[2001:db8::7]")).toBe("2001:db8::7");
  });

  test("an IPv4-compatible IPv6 address is not taken for the IPv4 address in it", () => {
    expect(behind("127.0.0.1", "203.0.113.7, ::10.0.0.1")).toBe("::a00:1");
  });

  test("the zone of a hop is left out", () => {
    expect(behind("127.0.0.1", "fe80::1%eth0")).toBe("fe80::1");
  });

  test("a header of over 1,024 characters is not read", () => {
    const fitting = `${"1.1.1.1,".repeat(126)}203.0.113.7`.padStart(1024, ",");
    expect(behind("127.0.0.1", fitting)).toBe("203.0.113.7");
    expect(behind("127.0.0.1", `,${fitting}`)).toBe("127.0.0.1");
    expect(behind("127.0.0.1", "9".repeat(65_536))).toBe("127.0.0.1");
  });

  test("what was judged before is judged the same after thousands of other hops", () => {
    for (let index = 0; index < 3000; index++) {
      const hop = `198.18.${index >> 8}.${index & 255}`;
      expect(behind("127.0.0.1", `${hop}, 10.0.0.2`)).toBe(hop);
    }
    expect(behind("127.0.0.1", "203.0.113.7, 10.0.0.2")).toBe("203.0.113.7");
  });

  test.each(["localhost", "10.0.0.0/33", "10.0.0.0/-1", ""])("%j is refused as a trusted proxy", (proxy) => {
    expect(() => compileClientAddress([proxy])).toThrow(TypeError);
  });
});

describe("the client is never another than the first from the right that is not trusted", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const trusted = fc.oneof(
    fc.tuple(octet, octet, octet).map((bytes) => `10.${bytes.join(".")}`),
    fc.constantFrom("127.0.0.1", "::1", "2001:db8:ffff::1"),
  );
  const stranger = fc.oneof(
    fc.tuple(octet, octet).map((bytes) => `203.0.${bytes.join(".")}`),
    fc.integer({ min: 1, max: 0xffff }).map((part) => `2001:db8::${part.toString(16)}`),
  );
  const malformed = fc.constantFrom("unknown", "1.2.3", "999.1.1.1", "::g", "<script>", "10.0.0.1/8");

  test("as the rule says, for any header of addresses and anything else", () => {
    const hops = fc.array(fc.oneof(trusted, stranger, malformed), { maxLength: 12 });
    fc.assert(
      fc.property(trusted, hops, (peer, hops) => {
        const fromRight = hops.toReversed();
        const first = fromRight.find((hop) => !isTrustedProxy(hop));
        const expected = first === undefined ? (hops[0] ?? peer) : isAddress(first) ? first : peer;
        expect(behind(peer, hops.join(", "))).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("as proxy-addr says, for any header of addresses", () => {
    fc.assert(
      fc.property(
        fc.oneof(trusted, stranger),
        fc.array(fc.oneof(trusted, stranger), { maxLength: 12 }),
        (peer, hops) => {
          const header = hops.join(", ");
          const request = new IncomingMessage(Object.defineProperty(new Socket(), "remoteAddress", { value: peer }));
          request.headers = { "x-forwarded-for": header };
          expect(behind(peer, header)).toBe(proxyAddr(request, PROXIES));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("nothing in a header makes it fail or answer anything but an address", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("1", "25", "9", "a", "f", "::", ":", ".", ",", "[", "]", "%", " ") }),
        (header) => {
          expect(isAddress(behind("127.0.0.1", header))).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });

  function isTrustedProxy(hop: string): boolean {
    return ["127.0.0.1", "::1", "2001:db8:ffff::1"].includes(hop) || /^10\.\d+\.\d+\.\d+$/.test(hop);
  }

  function isAddress(hop: string): boolean {
    return lockoutKey(hop) !== UNKNOWN_ADDRESS;
  }
});

describe("what failures are counted under", () => {
  test("an IPv4 address counts by itself", () => {
    expect(lockoutKey("203.0.113.7")).toBe("203.0.113.7");
  });

  test("all IPv6 addresses of a /64 block count as one, those of another block do not", () => {
    expect(lockoutKey("2001:db8:0:1::7")).toBe("2001:db8:0:1::/64");
    expect(lockoutKey("2001:db8:0:1:ffff:ffff:ffff:ffff")).toBe(lockoutKey("2001:db8:0:1::"));
    expect(lockoutKey("2001:db8:0:2::7")).not.toBe(lockoutKey("2001:db8:0:1::7"));
  });

  test("a mapped address counts as the IPv4 address", () => {
    expect(lockoutKey("::ffff:203.0.113.7")).toBe("203.0.113.7");
    expect(lockoutKey("::ffff:cb00:7107")).toBe("203.0.113.7");
  });

  test.each([UNKNOWN_ADDRESS, "", "localhost", "1.2.3", "::g"])(
    "what is no address counts as unknown: %j",
    (address) => {
      expect(lockoutKey(address)).toBe(UNKNOWN_ADDRESS);
    },
  );
});
