import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublicAddress } from "../../../src/http/public-address.ts";

describe("addresses that keys may be fetched from", () => {
  test.each(["8.8.8.8", "1.1.1.1", "223.255.255.255", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test.each(["2606:4700:4700::1111", "2a00:1450:4001:800::200e", "3ffe::1", "64:ff9b::808:808"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test.each([
    ["this host", "0.0.0.0"],
    ["this network", "0.1.2.3"],
    ["loopback", "127.0.0.1"],
    ["loopback", "127.255.255.254"],
    ["private", "10.0.0.1"],
    ["private", "172.16.0.1"],
    ["private", "172.31.255.255"],
    ["private", "192.168.1.1"],
    ["shared", "100.64.0.1"],
    ["shared", "100.127.255.255"],
    ["link-local", "169.254.0.1"],
    ["a cloud's metadata service", "169.254.169.254"],
    ["the host agent of Azure", "168.63.129.16"],
    ["documentation", "192.0.2.1"],
    ["documentation", "203.0.113.7"],
    ["benchmarking", "198.18.0.1"],
    ["multicast", "224.0.0.1"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
    ["unspecified", "::"],
    ["loopback", "::1"],
    ["unique local", "fd00::1"],
    ["unique local", "fc00::1"],
    ["a cloud's metadata service", "fd00:ec2::254"],
    ["link-local", "fe80::1"],
    ["link-local with a zone", "fe80::1%eth0"],
    ["public with a zone", "2606:4700:4700::1111%eth0"],
    ["multicast", "ff02::1"],
    ["IPv4-mapped", "::ffff:127.0.0.1"],
    ["IPv4-mapped", "::ffff:8.8.8.8"],
    ["IPv4-compatible", "::127.0.0.1"],
    ["IPv4-compatible", "::7f00:1"],
    ["translated, of loopback", "64:ff9b::7f00:1"],
    ["translated, of a cloud's metadata service", "64:ff9b::a9fe:a9fe"],
    ["translated, private", "64:ff9b::10.0.0.1"],
    ["translated, local to a network", "64:ff9b:1::808:808"],
    ["tunneled", "2002:7f00:1::"],
    ["tunneled", "2001::1"],
    ["documentation", "2001:db8::1"],
    ["discard-only", "100::1"],
    ["not assigned", "4000::1"],
    ["no address", ""],
    ["no address", "localhost"],
    ["no address in the one way of writing it", "0x7f.1"],
    ["no address in the one way of writing it", "010.8.8.8"],
    ["no address without its brackets", "[2606:4700:4700::1111]"],
  ])("%s is not: %s", (_kind, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test("any text is judged without an error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        expect(isPublicAddress(text)).toBeTypeOf("boolean");
      }),
    );
  });
});
