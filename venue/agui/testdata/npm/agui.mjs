// The official clients of AG-UI, the newest and the last before 1.0, run agents, with
// nothing done for them; each event fits the published schemas.
//
//   npm install && node agui.mjs     with usher from the PATH or $USHER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AgentCapabilitiesSchema, EventSchema } from "@ag-ui/core/schemas";
import * as now from "@ag-ui/client";
import * as before from "ag-ui-client-before";
import { from, lastValueFrom, toArray } from "rxjs";

const dir = mkdtempSync(join(tmpdir(), "usher-agui-"));
writeFileSync(join(dir, "usher.yaml"), `models: {default: {provider: offline}}
agents:
  - id: clerk
    description: Keeps notes.
    tools: [covia:read, covia:write]
    caps: [{with: w/notes, can: crud}, {with: w/refunds, can: crud, ask: true}]
  - id: none
    tools: [covia:read]
    caps: []
`);
const usher = spawn(process.env.USHER ?? "usher", ["serve", "--listen", "127.0.0.1:0", "--json"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
try {
  const first = await new Promise((done) => createInterface({ input: usher.stdout }).once("line", done));
  const { url, token } = JSON.parse(first);
  const headers = { Authorization: "Bearer " + token };

  // recorded has each event as it came, so that nothing that a client strips is missed.
  let recorded = [];
  const recording = async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || !response.body) return response;
    const [mine, theirs] = response.body.tee();
    new Response(mine).text().then((text) => {
      for (const frame of text.split("\n\n")) {
        if (frame.startsWith("data: ")) recorded.push(JSON.parse(frame.slice(6)));
      }
    });
    return new Response(theirs, { status: response.status, headers: response.headers });
  };
  const said = async (agent, text, extra = {}) => {
    agent.addMessage({ id: "u" + agent.messages.length, role: "user", content: text });
    const seen = [];
    const run = await agent.runAgent({ runId: crypto.randomUUID(), ...extra }, { onEvent: ({ event }) => { seen.push(event); } });
    return { ...run, seen, kinds: seen.map((event) => event.type) };
  };
  const checked = async (version) => {
    await new Promise((done) => setImmediate(done));
    assert.ok(recorded.length > 0);
    for (const event of recorded) {
      const { error } = EventSchema.safeParse(event);
      assert.equal(error, undefined, JSON.stringify(event) + error);
    }
    const passed = await lastValueFrom(from(recorded).pipe(version.verifyEvents(false), toArray()));
    assert.equal(passed.length, recorded.length);
    recorded = [];
  };

  for (const [name, version] of Object.entries({ now, before })) {
    class Venue extends version.HttpAgent {
      async getCapabilities() {
        return (await fetch(this.url + "/capabilities", { headers: this.headers })).json();
      }
    }
    const at = (agent, thread) => new Venue({ url: `${url}/agui/${agent}`, threadId: name + thread, headers, fetch: recording });

    // A run with a tool.
    const clerk = at("clerk", "1");
    let run = await said(clerk, "write w/notes/a one");
    assert.equal(run.kinds[0], "RUN_STARTED");
    for (const kind of ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_CONTENT"]) assert.ok(run.kinds.includes(kind), kind);
    assert.deepEqual(run.newMessages.map((m) => m.role), ["assistant", "tool", "assistant"]);
    assert.equal(clerk.state.w?.notes?.a, "one", "state is what was written");
    run = await said(clerk, "write w/notes/b two");
    assert.deepEqual(clerk.state, { w: { notes: { a: "one", b: "two" } } });
    assert.ok(run.kinds.includes("STATE_SNAPSHOT") && run.kinds.includes("STATE_DELTA"), run.kinds);
    run = await said(clerk, "read w/notes/a");
    assert.match(run.newMessages.at(-1).content, /one/);
    await checked(version);

    // A denial, in COG-13's words.
    run = await said(clerk, "read w/audits/a");
    assert.match(run.newMessages.find((m) => m.role === "tool").content, /Capability denied: .* requires crud\/read on w\/audits\/a/);
    assert.equal(run.seen.find((event) => event.type === "CUSTOM").name, "cog13.denied");
    await checked(version);

    // An interrupt, and its resume.
    for (const approved of [true, false]) {
      const asks = at("clerk", "ask" + approved);
      run = await said(asks, "write w/refunds/a 40");
      const outcome = run.seen.at(-1).outcome;
      assert.equal(outcome.type, "interrupt");
      assert.equal(outcome.interrupts.length, 1);
      const answer = { interruptId: outcome.interrupts[0].id, status: "resolved", payload: { approved } };
      if (name === "now") await assert.rejects(asks.runAgent({ runId: "without" }));
      const seen = [];
      await asks.runAgent({ runId: crypto.randomUUID(), resume: [answer] }, { onEvent: ({ event }) => { seen.push(event); } });
      assert.equal(seen.at(-1).outcome.type, "success");
      assert.match(seen.find((event) => event.type === "TOOL_CALL_RESULT").content, approved ? /written/ : /refused/);
    }

    // A tool of the client's: the run ends with the call pending, behind the venue's own.
    const picks = at("clerk", "picks");
    const tools = [{ name: "pick", description: "Pick a colour.", parameters: { type: "object" } }];
    run = await said(picks, 'write w/notes/p one\ncall pick {"of":["red"]}\nread w/notes/p', { tools });
    const call = run.seen.findLast((event) => event.type === "TOOL_CALL_START");
    assert.equal(call.toolCallName, "pick");
    assert.equal(run.seen.at(-1).outcome.type, "success");
    if (name === "now") assert.deepEqual(run.seen.at(-1).outcome.pendingToolCallIds, [call.toolCallId]);
    assert.equal(picks.messages.at(-1).toolCalls.at(-1).id, call.toolCallId);
    const kinds = [];
    const onEvent = { onEvent: ({ event }) => { kinds.push(event.type); } };
    picks.addMessage({ id: "answer", role: "tool", toolCallId: call.toolCallId, content: "red" });
    run = await picks.runAgent({ runId: crypto.randomUUID(), tools }, onEvent);
    assert.ok(kinds.includes("TOOL_CALL_RESULT"), kinds);
    assert.match(run.newMessages.at(-1).content, /one/);
    await checked(version);
    await assert.rejects(at("clerk", "shadow").runAgent({ runId: "s", tools: [{ ...tools[0], name: "covia_read" }] }), /400/);

    // What is refused before it begins.
    recorded = [];
    await assert.rejects(said(at("nobody", "1"), "hi"), /404/);

    // Capabilities: a check for each flag that is declared.
    const can = AgentCapabilitiesSchema.parse(await clerk.getCapabilities());
    assert.deepEqual(can.identity, { name: "clerk", type: "usher", description: "Keeps notes." });
    assert.deepEqual(can.transport, { streaming: true, websocket: false, httpBinary: false, pushNotifications: false, resumable: true });
    assert.deepEqual(can.tools.items.map((tool) => tool.name), ["covia_read", "covia_write"]);
    assert.equal(can.tools.clientProvided, true);
    assert.deepEqual(can.output, { structuredOutput: false, supportedMimeTypes: ["text/plain"] });
    assert.deepEqual(can.state, { snapshots: true, deltas: true, memory: true, persistentState: true });
    assert.equal(can.humanInTheLoop.approvals, true);
    assert.deepEqual(can.custom.cog13, { caps: [{ with: "w/notes", can: "crud" }, { with: "w/refunds", can: "crud", ask: true }], unrestricted: false });
    const nothing = AgentCapabilitiesSchema.parse(await at("none", "1").getCapabilities());
    assert.equal(nothing.tools.supported, false);
    assert.deepEqual(nothing.tools.items, []);

    // The streams of each demonstration.
    const demos = new URL("../demos/", import.meta.url);
    for (const file of readdirSync(demos).filter((file) => file.endsWith(".stream"))) {
      const frames = readFileSync(new URL(file, demos), "utf8").split("\n\n").filter((frame) => frame);
      const runs = [];
      for (const event of frames.map((frame) => JSON.parse(frame.slice("data: ".length)))) {
        if (event.type === "RUN_STARTED") runs.push([]);
        runs.at(-1).push(event);
      }
      assert.ok(runs.length > 0, file);
      for (recorded of runs) await checked(version);
    }
    console.log("ok  ", name, "runs agents by AG-UI");
  }
} finally {
  usher.kill("SIGTERM");
}
