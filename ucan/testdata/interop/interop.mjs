// Tokens go both ways between the usher command and three JavaScript libraries, and
// come from the reference venue, which writes the issuer's bare key as `kid`.
//
//   npm install && node interop.mjs           checks, with usher from the PATH or $USHER
//   node interop.mjs --write ../interop.json   also writes the tokens as test vectors
import { execFileSync, spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as ucans from "@ucans/ucans";
import * as DagUCAN from "@ipld/dag-ucan";
import * as Signature from "@ipld/dag-ucan/signature";
import { jwtVerify } from "jose";
import { base58btc } from "multiformats/bases/base58";

const usher = process.env.USHER ?? "usher";
const dir = mkdtempSync(join(tmpdir(), "interop-"));
const exp = Math.floor(Date.now() / 1000) + 3600;
const vectors = [];
let failed = 0;

const check = (name, ok, why = "") => {
  console.log(`${ok ? "ok  " : "FAIL"} ${name}${ok ? "" : ": " + why}`);
  if (!ok) failed++;
};
const run = (...args) => execFileSync(usher, ["ucan", ...args], { cwd: dir, stdio: ["ignore", "pipe", "pipe"] }).toString().trim();
const b64 = (data) => Buffer.from(data).toString("base64url");

// person has a key of node's and names it as a DID.
function person() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const multikey = base58btc.encode(Uint8Array.from([0xed, 0x01, ...raw]));
  return { multikey, did: "did:key:" + multikey, privateKey };
}

const publicKeyOf = (did) => createPublicKey({
  key: Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), base58btc.decode(did.slice("did:key:".length)).subarray(2)]),
  format: "der", type: "spki",
});

// asVenue writes a JWT as the reference venue does.
function asVenue(issuer, audience, att, prf = [], header = {}) {
  const head = b64(JSON.stringify({ alg: "EdDSA", typ: "JWT", kid: issuer.multikey, ...header }));
  const body = b64(JSON.stringify({ iss: issuer.did, aud: audience.did, exp, att, prf }));
  return `${head}.${body}.${b64(sign(null, Buffer.from(`${head}.${body}`), issuer.privateKey))}`;
}

// verdict asks usher about a token, and keeps the question as a vector.
function verdict(name, token, caller, can, on, want) {
  const file = join(dir, `${vectors.length}.jwt`);
  writeFileSync(file, token + "\n");
  const { stdout } = spawnSync(usher, ["ucan", "verify", "--caller", caller, "--can", can, "--with", on, file]);
  const answer = JSON.parse(stdout.toString());
  check(name, answer.decision === want, answer.reason);
  vectors.push({ name, token, caller, can, with: on, at: exp - 60, decision: want });
}

// What usher writes, they read.
const alice = run("keygen", "--out", "alice.key");
const bob = run("keygen", "--out", "bob.key");
const carol = run("keygen", "--out", "carol.key");
run("delegate", "--key", "alice.key", "--audience", bob, "--cap", "crud/read on w/reports", "--ttl", "2h", "--format", "jwt", "--out", "root");
run("delegate", "--key", "bob.key", "--owner", alice, "--audience", carol, "--cap", "crud/read on w/reports/q3", "--ttl", "1h", "--format", "jwt", "--inline", "--proof", "root", "--out", "leaf");
for (const [file, issuer, audience] of [["root", alice, bob], ["leaf", bob, carol]]) {
  const token = readFileSync(join(dir, file), "utf8").trim();
  const { protectedHeader, payload } = await jwtVerify(token, publicKeyOf(issuer), { algorithms: ["EdDSA"] });
  check(`jose reads usher's ${file}`, payload.aud === audience && protectedHeader.kid === issuer.slice("did:key:".length));
  try {
    const read = await ucans.validate(token);
    check(`@ucans/ucans reads usher's ${file}`, read.payload.iss === issuer && read.payload.att.length === 1);
  } catch (e) {
    check(`@ucans/ucans reads usher's ${file}`, false, e);
  }
  try {
    const read = DagUCAN.parse(token); // its verifySignature knows only headers of its own making
    check(`@ipld/dag-ucan reads usher's ${file}`, read.issuer.did() === issuer && read.audience.did() === audience &&
      read.capabilities[0].can === "crud/read" && DagUCAN.format(read) === token);
  } catch (e) {
    check(`@ipld/dag-ucan reads usher's ${file}`, false, e);
  }
  vectors.push({ name: `usher's ${file}`, token, caller: audience, can: "crud/read", with: `${alice}/w/reports/q3`, at: exp - 60, decision: "allow" });
}

// What the reference venue writes, usher verifies.
const [owner, first, second, third] = [person(), person(), person(), person()];
const on = (path) => `${owner.did}/${path}`;
for (const [how, header] of [["bare", {}], ["with ucv", { ucv: "0.10.0" }], ["as a DID", { kid: undefined }]]) {
  const h = (who) => (how === "as a DID" ? { kid: who.did } : header);
  const root = asVenue(owner, first, [{ with: on("w/"), can: "crud" }], [], h(owner));
  const middle = asVenue(first, second, [{ with: on("w/reports/"), can: "crud/read" }], [root], h(first));
  const leaf = asVenue(second, third, [{ with: on("w/reports/q3"), can: "crud/read" }], [middle], h(second));
  verdict(`root of the reference venue, kid ${how}`, root, first.did, "crud/write", on("w/x"), "allow");
  verdict(`chain of the reference venue, kid ${how}`, leaf, third.did, "crud/read", on("w/reports/q3/a"), "allow");
  verdict(`its chain beyond what it gives, kid ${how}`, leaf, third.did, "crud/read", on("w/reports/q4"), "deny");
}
verdict("kid of another", asVenue(owner, first, [{ with: on("w/"), can: "crud" }], [], { kid: first.multikey }), first.did, "crud", on("w/x"), "deny");

// What the libraries write, usher verifies.
const [a, b, c] = [await ucans.EdKeypair.create(), await ucans.EdKeypair.create(), await ucans.EdKeypair.create()];
const capability = (path, ...can) => ({ with: { scheme: "did", hierPart: `${a.did().slice("did:".length)}/${path}` }, can: { namespace: can[0], segments: can.slice(1) } });
const theirs = await ucans.build({ issuer: a, audience: b.did(), capabilities: [capability("w", "crud", "read")], expiration: exp });
verdict("root of @ucans/ucans", ucans.encode(theirs), b.did(), "crud/read", `${a.did()}/w/x`, "allow");
const below = await ucans.build({ issuer: b, audience: c.did(), capabilities: [capability("w/x", "crud", "read")], expiration: exp, proofs: [ucans.encode(theirs)] });
verdict("chain of @ucans/ucans", ucans.encode(below), c.did(), "crud/read", `${a.did()}/w/x/y`, "allow");

const issuer = {
  did: () => owner.did, signatureAlgorithm: "EdDSA", signatureCode: Signature.EdDSA,
  sign: (bytes) => Signature.create(Signature.EdDSA, new Uint8Array(sign(null, bytes, owner.privateKey))),
};
const issued = await DagUCAN.issue({ issuer, audience: { did: () => first.did }, capabilities: [{ can: "crud/read", with: on("w") }], expiration: exp });
verdict("root of @ipld/dag-ucan", DagUCAN.format(issued), first.did, "crud/read", on("w/x"), "allow");

const write = process.argv.indexOf("--write");
if (write > 0 && !failed) writeFileSync(process.argv[write + 1], JSON.stringify(vectors, null, 1) + "\n");
process.exit(failed ? 1 : 0);
