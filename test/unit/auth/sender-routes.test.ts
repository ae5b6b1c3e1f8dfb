import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NO_KEYS } from "../../../src/auth/keys/remote-keys.ts";
import { SenderRoutes } from "../../../src/auth/sender-routes.ts";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import { ConfigError } from "../../../src/config/errors.ts";
import type { MappingConfig } from "../../../src/config/mapping/schema.ts";
import type { Handshake } from "../../../src/config/handshake.ts";
import { normalizeAuth } from "../../../src/config/auth/read.ts";
import type { AuthInput } from "../../../src/config/auth/schema.ts";
import { mapping as bareMapping } from "../transform/config-folder.ts";

const SECRET = "secret-of-the-route-tests-1a";
const SIGNED: AuthInput = { from: "header:x-signature" };

let count = 0;
function mappingOf(path: string | undefined, auth?: AuthInput, changes: Partial<MappingConfig> = {}): MappingConfig {
  return {
    ...bareMapping(count++),
    match: { path, source: undefined },
    auth: auth && normalizeAuth(auth, [SECRET]),
    ...changes,
  };
}

const routesOf = (...mappings: readonly MappingConfig[]) =>
  new SenderRoutes(mappings, { publicUrl: "https://gateway.example.com", ...NO_KEYS });

const callOf = (body: string, changes: Partial<IncomingRequest> = {}): IncomingRequest => ({
  method: "POST",
  target: "/hooks/in",
  headers: { "x-signature": createHmac("sha256", SECRET).update(body).digest("hex") },
  body: Buffer.from(body),
  receivedAt: 1_000,
  pathSecret: undefined,
  ...changes,
});

const echo = (name: string, method: "GET" | "HEAD"): Handshake => ({
  name,
  method,
  verified: false,
  when: { [`query:${name}`]: true },
  reply: { status: 200 },
});

describe("the routes of senders", () => {
  it("are found by the whole path, whatever slashes are at its end", () => {
    const routes = routesOf(mappingOf("github", SIGNED), mappingOf("a/b", SIGNED));
    for (const path of ["github", "github/", "github//"]) {
      expect(routes.find(path)).toMatchObject({ route: { path: "github" }, pathSecret: undefined });
    }
    expect(routes.find("a/b")?.route.path).toBe("a/b");
    for (const path of ["", "/", "git", "githubx", "GitHub", "github/x", "a", "b"]) {
      expect(routes.find(path)).toBeUndefined();
    }
  });

  it("are none of mappings that take the hook token, or that take any path", () => {
    const routes = routesOf(mappingOf("in"), mappingOf(undefined), mappingOf(undefined, SIGNED));
    expect(routes.find("in")).toBeUndefined();
    expect(routes.find("")).toBeUndefined();
  });

  it("take the last segment of the path as the secret where the scheme says so, and only then", () => {
    const routes = routesOf(mappingOf("deep/in", { scheme: "secret", from: "path" }), mappingOf("github", SIGNED));
    expect(routes.find("deep/in/s3cret")).toMatchObject({ route: { path: "deep/in" }, pathSecret: "s3cret" });
    expect(routes.find("deep/in/s3cret/")).toMatchObject({ pathSecret: "s3cret" });
    expect(routes.find("deep")).toBeUndefined();
    expect(routes.find("deep/in/x/s3cret")).toBeUndefined();
    expect(routes.find("github/s3cret")).toBeUndefined();
  });

  it("find a secret's route by its path without the secret too, however many segments that has", () => {
    for (const path of ["in", "team/acme", "a/b/c"]) {
      const routes = routesOf(mappingOf(path, { scheme: "secret", from: "path" }));
      for (const bare of [path, `${path}/`]) {
        expect(routes.find(bare)).toMatchObject({ route: { path }, pathSecret: undefined });
      }
      expect(routes.find(`${path}/s`)).toMatchObject({ route: { path }, pathSecret: "s" });
    }
  });

  it("take the name of a route below another for no secret of the upper one", () => {
    const secret: AuthInput = { scheme: "secret", from: "path" };
    const routes = routesOf(
      mappingOf("team", secret),
      mappingOf("team/acme", secret),
      mappingOf("team/signed", SIGNED),
    );
    expect(routes.find("team")).toMatchObject({ route: { path: "team" }, pathSecret: undefined });
    expect(routes.find("team/other")).toMatchObject({ route: { path: "team" }, pathSecret: "other" });
    expect(routes.find("team/acme")).toMatchObject({ route: { path: "team/acme" }, pathSecret: undefined });
    expect(routes.find("team/acme/s")).toMatchObject({ route: { path: "team/acme" }, pathSecret: "s" });
    expect(routes.find("team/signed")).toMatchObject({ route: { path: "team/signed" }, pathSecret: undefined });
    expect(routes.find("team/signed/s")).toBeUndefined();
  });

  it("verify by the scheme of their mapping", async () => {
    const { route } = routesOf(mappingOf("in", SIGNED)).find("in")!;
    expect(route.auth.scheme).toBe("signature");
    expect(await route.verifier.verify(callOf("{}"))).toMatchObject({ ok: true });
    expect(await route.verifier.verify({ ...callOf("{}"), body: Buffer.from("[]") })).toMatchObject({ ok: false });
  });

  it("know the public URL", async () => {
    const { route } = routesOf(mappingOf("in", { ...SIGNED, content: "{url}" })).find("in")!;
    const signature = createHmac("sha256", SECRET).update("https://gateway.example.com/hooks/in").digest("hex");
    expect(await route.verifier.verify(callOf("{}", { headers: { "x-signature": signature } }))).toMatchObject({
      ok: true,
    });
  });

  it("take POST, the methods of their mappings and those of their handshakes", () => {
    const plain = routesOf(mappingOf("in", SIGNED)).find("in")!.route;
    expect([[...plain.eventMethods], [...plain.methods]]).toEqual([["POST"], ["POST"]]);
    const routes = routesOf(
      mappingOf("in", SIGNED, { handshakes: [echo("check", "GET")] }),
      mappingOf("in", SIGNED, { methods: ["PUT"], handshakes: [echo("check", "GET"), echo("ping", "HEAD")] }),
    );
    const { route } = routes.find("in")!;
    expect([...route.eventMethods]).toEqual(["POST", "PUT"]);
    expect([...route.methods]).toEqual(["POST", "PUT", "GET", "HEAD"]);
  });

  it("answer the handshakes of all mappings of the path", async () => {
    const routes = routesOf(
      mappingOf("in", SIGNED, { handshakes: [echo("check", "GET")] }),
      mappingOf("in", SIGNED, { handshakes: [echo("ping", "HEAD")] }),
    );
    const { handshakes } = routes.find("in")!.route;
    const ask = (method: string, target: string) => handshakes.unverified(callOf("", { method, target, headers: {} }));
    expect(await ask("GET", "/hooks/in?check=1")).toMatchObject({ name: "check" });
    expect(await ask("HEAD", "/hooks/in?ping=1")).toMatchObject({ name: "ping" });
    expect(await ask("GET", "/hooks/in?ping=1")).toBeUndefined();
  });

  it("know which headers and parameters carry secrets, so that those are hidden", () => {
    const routes = routesOf(
      mappingOf("a", { scheme: "secret", from: ["header:X-Acme", "query:Key"] }),
      mappingOf("b", { scheme: "secret", from: "path" }),
      mappingOf("c", {
        scheme: "jwt",
        from: "header:X-Jot",
        jwksUrl: "https://id.example.com/keys",
        issuer: ["https://id.example.com"],
        audience: "a",
      }),
      mappingOf("d", SIGNED),
      mappingOf("e", { scheme: "basic", username: "hooks" }),
      mappingOf("f", { scheme: "secret", from: "header:x-acme" }),
    );
    expect(routes.credentialNames("header")).toEqual(["x-acme", "x-jot"]);
    expect(routes.credentialNames("query")).toEqual(["key"]);
  });
});

describe("a route whose secret is missing", () => {
  const without = (auth: AuthInput) => normalizeAuth(auth, []);
  const aside = { broken: "the environment variable SECRET is not set" };

  it("verifies nothing and answers no handshake while every mapping of it is set aside", async () => {
    const handshakes = [echo("check", "GET")];
    const { route } = routesOf(mappingOf("in", undefined, { auth: without(SIGNED), handshakes, ...aside })).find("in")!;
    expect(route.isBroken).toBe(true);
    expect(await route.verifier.verify(callOf("{}"))).toEqual({ ok: false, reason: "the secret is missing" });
    const asked = callOf("", { method: "GET", target: "/hooks/in?check=1", headers: {} });
    expect(await route.handshakes.unverified(asked)).toBeUndefined();
  });

  it("is verified by the mapping that works, and that one alone decides how", async () => {
    const broken = mappingOf("in", undefined, { auth: without({ from: "header:x-other" }), ...aside });
    for (const mappings of [
      [broken, mappingOf("in", SIGNED)],
      [mappingOf("in", SIGNED), broken],
    ]) {
      const { route } = routesOf(...mappings).find("in")!;
      expect(route.isBroken).toBe(false);
      expect(await route.verifier.verify(callOf("{}"))).toMatchObject({ ok: true });
    }
  });

  it("takes what is below it, where that may be its secret, and no path of another mapping", () => {
    const missing = mappingOf("in", undefined, { auth: without({ scheme: "secret", from: "path" }), ...aside });
    const routes = routesOf(missing, mappingOf("in/deploy"));
    expect(routes.find("in/a-secret")?.route.path).toBe("in");
    expect(routes.find("in/deploy")).toBeUndefined();
  });

  it("is not one for want of a secret that its sender delivers later, nor when a broken mapping has its secret", () => {
    const delivered = { ...without({ from: "header:x-signature" }), deliveredKey: true } as MappingConfig["auth"];
    const routes = routesOf(
      mappingOf("later", undefined, { auth: delivered, ...aside }),
      mappingOf("has", SIGNED, aside),
    );
    expect([routes.find("later")?.route.isBroken, routes.find("has")?.route.isBroken]).toEqual([false, false]);
  });
});

describe("routes that could not work are refused with their place", () => {
  const refusalOf = (...mappings: readonly MappingConfig[]): unknown => {
    try {
      routesOf(...mappings);
    } catch (error) {
      return error instanceof ConfigError ? error.issues : error;
    }
    return undefined;
  };

  it("when two mappings of a path differ in auth", () => {
    const first = mappingOf("in", SIGNED, { where: "hooks.mappings[0]" });
    const other = mappingOf("in", { from: "header:x-other" }, { where: "hooks.mappings[1]" });
    const token = mappingOf("in", undefined, { where: "hooks.mappings[2]" });
    const message = "differs from that of hooks.mappings[0]";
    expect(refusalOf(first, other)).toEqual([{ path: "hooks.mappings[1].auth", message }]);
    expect(refusalOf(first, token)).toEqual([{ path: "hooks.mappings[2].auth", message }]);
    expect(refusalOf(first, mappingOf("in", SIGNED))).toBeUndefined();
  });

  it("when a scheme's data can verify nothing", () => {
    const broken = mappingOf("in", { ...SIGNED, content: "{bodi}" }, { where: "hooks.mappings[3]" });
    expect(refusalOf(broken)).toMatchObject([
      { path: "hooks.mappings[3].auth", message: expect.stringMatching(/bodi/u) },
    ]);
  });

  it("when a handshake's data can answer nothing", () => {
    const handshakes: Handshake[] = [{ name: "check", verified: false, reply: { status: 200, text: "{nothing:x}" } }];
    const broken = mappingOf("in", SIGNED, { where: "hooks.mappings[4]", handshakes });
    expect(refusalOf(broken)).toMatchObject([{ path: "hooks.mappings[4].handshakes" }]);
  });

  it("when a handshake signs texts on request, and events are signed by something else than their body", () => {
    const handshakes: Handshake[] = [
      {
        name: "CRC",
        method: "GET",
        verified: false,
        when: { "query:crc_token": true },
        onlyKeys: ["crc_token"],
        computed: { token: { algorithm: "hmac-sha256", encoding: "hex", of: "{query:crc_token}" } },
        reply: { status: 200, text: "{computed:token}" },
      },
    ];
    const of = (auth: AuthInput) => refusalOf(mappingOf("in", auth, { where: "hooks.mappings[5]", handshakes }));
    expect(of({ ...SIGNED, content: "{sha256}" })).toEqual([
      {
        path: "hooks.mappings[5].auth.content",
        message: "must hold {body}, because a handshake of the path signs texts for every caller",
      },
    ]);
    expect(of(SIGNED)).toBeUndefined();
    expect(of({ scheme: "secret", from: "header:x-acme" })).toBeUndefined();
    expect(refusalOf(mappingOf("in", { ...SIGNED, content: "{sha256}" }))).toBeUndefined();
  });

  it("and a defect of ours is not taken for one of the configuration", () => {
    const publicUrl = "https://gateway.example.com";
    const remoteKeys = {
      ...NO_KEYS.remoteKeys,
      jwks: () => {
        throw new RangeError("a defect");
      },
    };
    const jwt: AuthInput = { scheme: "jwt", jwksUrl: "https://id.example.com/keys", issuer: ["i"], audience: "a" };
    expect(() => new SenderRoutes([mappingOf("in", jwt)], { ...NO_KEYS, publicUrl, remoteKeys })).toThrow(RangeError);
  });
});

describe("keys of a configuration that is only inspected", () => {
  it("are none, and nothing is fetched or kept", async () => {
    const { remoteKeys, deliveredKeys } = NO_KEYS;
    const expected = { issuer: [], audience: "", now: 0 };
    expect(await remoteKeys.jwks("https://id.example.com").verify("token", expected)).toEqual({
      ok: false,
      reason: "no keys are fetched here",
    });
    expect(await remoteKeys.certificate("https://id.example.com/a.pem")).toBeUndefined();
    expect(await remoteKeys.confirm("https://id.example.com")).toBe(false);
    expect(deliveredKeys.get("in")).toBeUndefined();
    expect(await deliveredKeys.accept("in", "key")).toBe(false);
    expect(remoteKeys.close()).toBeUndefined();
    expect(Object.isFrozen(NO_KEYS)).toBe(true);
  });
});
