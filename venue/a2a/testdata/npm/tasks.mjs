// The client for JavaScript gives an agent tasks, with nothing done for it.
//
//   npm install && node tasks.mjs     with usher from the PATH or $USHER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const told = [];
const hook = createServer((req, res) => {
  let body = "";
  req.on("data", (piece) => (body += piece)).on("end", () => {
    told.push({ token: req.headers["x-a2a-notification-token"], body: JSON.parse(body) });
    res.end();
  });
});
await new Promise((done) => hook.listen(0, "127.0.0.1", done));
const address = "127.0.0.1:" + hook.address().port;
const dir = mkdtempSync(join(tmpdir(), "usher-a2a-"));
writeFileSync(join(dir, "usher.yaml"), `models: {default: {provider: offline}}
agents:
  - id: clerk
    tools: [covia:read, covia:write]
    caps: [{with: w/notes, can: crud}]
  - id: payer
    tools: [covia:write]
    caps: [{with: w/refunds, can: crud, ask: true}]
a2a: {agents: [clerk, payer], private_pushes: ["${address}"]}
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
    const payer = await factory.createFromUrl(url + "/a2a/payer/.well-known/agent-card.json", "");
    const waits = await payer.sendMessage(say("write w/refunds/a one"));
    assert.equal(waits.status.state, 8); // AUTH_REQUIRED
    const config = { tenant: "", taskId: waits.id, id: "here", url: "http://" + address + "/hook", token: "t-" + transport, authentication: undefined };
    assert.equal((await payer.createTaskPushNotificationConfig(config)).id, "here");
    assert.equal((await payer.getTaskPushNotificationConfig({ tenant: "", taskId: waits.id, id: "here" })).url, config.url);
    assert.equal((await payer.listTaskPushNotificationConfig({ tenant: "", taskId: waits.id, pageSize: 0, pageToken: "" })).configs.length, 1);
    await payer.cancelTask({ id: waits.id });
    const end = () => told.find((n) => n.token === config.token && n.body.task?.status.state === "TASK_STATE_CANCELED");
    for (let i = 0; i < 600 && !end(); i++) await new Promise((done) => setTimeout(done, 100));
    assert.equal(end()?.body.task.id, waits.id);
    await payer.deleteTaskPushNotificationConfig({ tenant: "", taskId: waits.id, id: "here" });
    await assert.rejects(payer.getTaskPushNotificationConfig({ tenant: "", taskId: waits.id, id: "here" }));
  }
  console.log("ok   the client of npm gives an agent tasks");
} finally {
  usher.kill("SIGTERM");
  hook.close();
}
