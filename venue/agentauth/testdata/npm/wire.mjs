// A host of agents that speaks Agent-Auth by the wire alone: it registers agents, asks how they
// stand, and executes as they.
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";

const b64 = (bytes) => Buffer.from(bytes).toString("base64url");

class Key {
  constructor() {
    const pair = generateKeyPairSync("ed25519");
    this.secret = pair.privateKey;
    const { kty, crv, x } = pair.publicKey.export({ format: "jwk" });
    this.jwk = { kty, crv, x };
    this.thumbprint = b64(createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest());
  }

  token(typ, claims) {
    const now = Math.floor(Date.now() / 1000);
    const text = [{ alg: "EdDSA", typ, kid: this.thumbprint }, { iat: now, exp: now + 60, jti: randomUUID(), ...claims }]
      .map((part) => b64(JSON.stringify(part))).join(".");
    return `${text}.${b64(sign(null, Buffer.from(text), this.secret))}`;
  }
}

export class Host {
  constructor(url) {
    this.url = url;
    this.key = new Key();
  }

  token(claims) {
    return this.key.token("host+jwt", { iss: this.key.thumbprint, sub: this.key.thumbprint, aud: this.url, ...claims });
  }

  async send(path, token, body) {
    const answer = await fetch(this.url + path, {
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  // register returns an agent that waits for a person.
  async register(name, capabilities, reason) {
    const key = new Key();
    const made = await this.send("/agent/register", this.token({ host_public_key: this.key.jwk, agent_public_key: key.jwk }), { name, host_name: "Desk", capabilities, reason });
    if (made.body.status !== "pending") throw new Error(`register: ${made.status} ${JSON.stringify(made.body)}`);
    const { agent_id: id, approval } = made.body;
    return {
      id, approval,
      standing: async () => (await this.send(`/agent/status?agent_id=${id}`, this.token())).body.status,
      execute: (capability, args) => this.send("/capability/execute", key.token("agent+jwt", { sub: id, aud: this.url }), { capability, arguments: args }),
    };
  }
}
