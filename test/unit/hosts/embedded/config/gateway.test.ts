import { describe, expect, it } from "vitest";
import { readBindAddress } from "../../../../../src/hosts/embedded/config/gateway.ts";

describe("readBindAddress", () => {
  it("knows the names", () => {
    expect(readBindAddress("loopback")).toEqual({ host: "127.0.0.1", loopbackOnly: true });
    expect(readBindAddress("localhost")).toEqual({ host: "127.0.0.1", loopbackOnly: true });
    expect(readBindAddress("lan")).toEqual({ host: "0.0.0.0", loopbackOnly: false });
  });

  it("distinguishes loopback addresses from others, mapped ones included", () => {
    for (const host of ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"]) {
      expect(readBindAddress(host)).toEqual({ host, loopbackOnly: true });
    }
    for (const host of ["0.0.0.0", "::", "192.168.1.4", "2001:db8::1", "::ffff:10.0.0.1"]) {
      expect(readBindAddress(host)).toEqual({ host, loopbackOnly: false });
    }
  });

  it("knows nothing else", () => {
    for (const text of ["", "auto", "example.com", "127.1", "0x7f.1", "tailnet"]) {
      expect(readBindAddress(text)).toBeUndefined();
    }
  });
});
