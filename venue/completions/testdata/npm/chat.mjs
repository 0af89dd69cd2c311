// The official client for JavaScript talks with an agent, with nothing done for it.
//
//   npm install && node chat.mjs     with usher from the PATH or $USHER
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import OpenAI from "openai";

const dir = mkdtempSync(join(tmpdir(), "usher-chat-"));
writeFileSync(join(dir, "usher.yaml"), `models: {default: {provider: offline}}
agents:
  - id: clerk
    tools: [covia:read, covia:write]
    caps: [{with: w/notes, can: crud}]
`);
const usher = spawn(process.env.USHER ?? "usher", ["serve", "--listen", "127.0.0.1:0", "--json"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
try {
  const first = await new Promise((done) => createInterface({ input: usher.stdout }).once("line", done));
  const { url, token } = JSON.parse(first);
  const openai = new OpenAI({ baseURL: url + "/v1", apiKey: token, maxRetries: 0 });

  assert.deepEqual((await openai.models.list()).data.map((m) => m.id), ["clerk"]);
  const messages = [{ role: "user", content: "write w/notes/a one" }];
  const made = await openai.chat.completions.create({ model: "clerk", messages });
  assert.match(made.choices[0].message.content, /covia_write/);

  const streamed = openai.chat.completions.stream({ model: "clerk", messages: [{ role: "user", content: "read w/notes/a" }] });
  let pieces = "";
  streamed.on("content", (delta) => { pieces += delta; });
  assert.equal(await streamed.finalContent(), pieces);
  assert.match(pieces, /one/);

  const response = await openai.responses.create({ model: "clerk", input: "write w/notes/b two" });
  assert.deepEqual(response.output.map((item) => item.type), ["mcp_call", "message"]);
  const following = openai.responses.stream({ model: "clerk", input: "read w/notes/b", previous_response_id: response.id });
  let said = "";
  following.on("response.output_text.delta", (event) => { said += event.delta; });
  const last = await following.finalResponse();
  assert.equal(last.status, "completed");
  assert.equal(last.output_text, said);
  assert.match(said, /two/);
  assert.equal((await openai.responses.retrieve(last.id)).output_text, said);

  await assert.rejects(openai.chat.completions.create({ model: "nobody", messages }), { status: 404, code: "not_found" });
  await assert.rejects(openai.chat.completions.create({ model: "clerk", messages, n: 2 }), { status: 400, param: "n" });
  const stranger = new OpenAI({ baseURL: url + "/v1", apiKey: "x.y.z", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
  console.log("ok   the client of npm chats with an agent");
} finally {
  usher.kill("SIGTERM");
}
