// The client for JavaScript gives an agent tasks, with nothing done for it.
//
//   npm install && node tasks.mjs     with usher from the PATH or $USHER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const dir = mkdtempSync(join(tmpdir(), "usher-a2a-"));
writeFileSync(join(dir, "usher.yaml"), `models: {default: {provider: offline}}
agents:
  - id: clerk
    tools: [covia:read, covia:write]
    caps: [{with: w/notes, can: crud}]
a2a: {agents: [clerk]}
`);
const usher = spawn(process.env.USHER ?? "usher", ["serve", "--listen", "127.0.0.1:0", "--json"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
try {
  const first = await new Promise((done) => createInterface({ input: usher.stdout }).once("line", done));
  const { url, token } = JSON.parse(first);
  const fetchImpl = (at, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", "Bearer " + token);
    return fetch(at, { ...init, headers });
  };
  for (const transport of ["JSONRPC", "HTTP+JSON"]) {
    const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
      preferredTransports: [transport],
    }));
    const client = await factory.createFromUrl(url + "/a2a/clerk/.well-known/agent-card.json", "");
    const say = (text) => ({ message: { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { $case: "text", value: text }, filename: "", mediaType: "" }], contextId: "", taskId: "", extensions: [], referenceTaskIds: [] } });
    const task = await client.sendMessage(say("write w/notes/a one"));
    assert.equal(task.status.state, 3);
    const got = await client.getTask({ id: task.id });
    assert.equal(got.id, task.id);
    assert.match(got.artifacts[0].parts[0].content.value, /covia_write/);
    const list = await client.listTasks({ tenant: "", contextId: task.contextId, status: 0 });
    assert.equal(list.tasks.length, 1);
    let last;
    for await (const event of client.sendMessageStream(say("read w/notes/a"))) last = event;
    assert.equal((last.payload ?? last).value.status.state, 3);
    await assert.rejects(client.cancelTask({ id: task.id }));
    await assert.rejects((async () => { for await (const _ of client.resubscribeTask({ id: task.id })); })());
  }
  console.log("ok   the client of npm gives an agent tasks");
} finally {
  usher.kill("SIGTERM");
}
