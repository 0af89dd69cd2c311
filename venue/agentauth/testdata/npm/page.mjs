// A person approves what agents ask for, on the page of the venue, in Chromium: without scripts
// and by the keyboard alone. Nobody else's page does it for them.
//
//   npm install && node page.mjs     with usher from the PATH or $USHER, and Chromium from
//                                    where it usually is or $CHROMIUM
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { Host } from "./wire.mjs";

const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find(existsSync);
assert(executablePath, "no Chromium is here: install it, or say in CHROMIUM where it is");
const dir = mkdtempSync(join(tmpdir(), "usher-page-"));
writeFileSync(join(dir, "usher.yaml"), `name: Bank
models: {default: {provider: offline}}
data:
  - {path: w/accounts/one, value: 12}
agentauth:
  capabilities:
    - {name: read_account, operation: 'covia:read', description: Read an account., caps: [{with: w/accounts/, can: crud/read}]}
    - {name: write_account, operation: 'covia:write', description: Write an account., caps: [{with: w/accounts/, can: crud/write}]}
`);

const usher = spawn(process.env.USHER ?? "usher", ["serve", "--listen", "127.0.0.1:0", "--json"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
const elsewhere = createServer((request, answer) => {
  answer.setHeader("Content-Type", "text/html");
  answer.end(elsewhere.page);
}).listen(0, "127.0.0.1");
let browser;
try {
  const first = await new Promise((done) => createInterface({ input: usher.stdout }).once("line", done));
  const { url, token } = JSON.parse(first);
  const host = new Host(url);
  const asks = ["read_account", { name: "write_account", constraints: { value: { max: 100 } } }];
  browser = await chromium.launch({ executablePath });
  const person = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 900, height: 1100 } });
  const page = await person.newPage();
  const main = () => page.locator("main").textContent();
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  // reach tabs until what a selector names has the focus, as a person without a mouse does.
  const reach = async (selector, key = "Tab") => {
    for (let n = 0; n < 40; n++) {
      if (await page.locator(`${selector}:focus`).count()) return;
      await press(key);
    }
    assert.fail(`the keyboard does not reach ${selector}: ${await page.content()}`);
  };
  const settled = async (act) => { await Promise.all([page.waitForNavigation(), act()]); };
  const enter = () => settled(() => press("Enter"));
  // look sends the code that a link brings.
  const look = async () => { await reach("#code"); await enter(); };

  // A stranger learns nothing, signs in, and is back where they were.
  const books = await host.register("Books <b>of</b> Acme", asks, "to pay & file");
  await page.goto(books.approval.verification_uri_complete);
  assert.doesNotMatch(await main(), /Acme|account/);
  await reach("a");
  await enter();
  await reach("input[name=token]");
  await page.keyboard.type(token);
  await enter();
  assert.equal(page.url(), books.approval.verification_uri_complete);
  assert.doesNotMatch(await main(), /Acme|account/, "the link alone tells who has it");

  // They see who asks for what and why, and approve less: one capability of two, within less.
  await look();
  const said = await main();
  for (const text of ["Books <b>of</b> Acme", "Desk", "to pay & file", "Read an account.", "/value is at most 100", books.approval.user_code]) {
    assert(said.includes(text), `the page does not say ${text}: ${said}`);
  }
  await reach("input[value=read_account]");
  await press("Space");
  await enter(); // on a tick: it approves nothing that nobody meant, and forgets nothing
  assert.equal(await page.locator("input[value=read_account]").isChecked(), false);
  await reach("#limit-write_account");
  await page.keyboard.type('{"value": {"max": 5}}');
  await reach("select");
  await press("ArrowDown");
  const picture = join(dir, "page.png");
  await page.screenshot({ path: picture, fullPage: true });
  await reach("button[value=approve]");
  await enter();
  assert.match(await main(), /You have approved 1 of 2\./);
  assert.equal(await books.standing(), "active");
  const write = (value) => books.execute("write_account", { path: "w/accounts/one", value });
  assert.equal((await write(5)).status, 200);
  assert.equal((await write(6)).body.error, "constraint_violated");
  assert.equal((await books.execute("read_account", { path: "w/accounts/one" })).body.error, "capability_not_granted");

  // Limits that nobody can hold are said, and what stands on the page is asked again.
  const typed = await host.register("Typist", asks);
  await page.goto(typed.approval.verification_uri_complete);
  await look();
  await reach("#limit-write_account");
  await page.keyboard.type('{"value": {"maximum": 5}}');
  await reach("button[value=approve]");
  await enter();
  assert.match(await page.locator("[role=alert]").textContent(), /unknown operators/);
  assert.equal(await page.locator("#limit-write_account").inputValue(), '{"value": {"maximum": 5}}');
  await reach("button[value=deny]");
  await enter();
  assert.match(await main(), /You have denied it\./);
  assert.equal(await typed.standing(), "rejected");

  // Pages of others, on this machine and on another site, that know even the code.
  const robbed = await host.register("Robbed", asks);
  const form = `<form method="post" action="${url}/agent/device"><input name="agent_id" value="${robbed.id}"><input name="code" value="${robbed.approval.user_code}"><input name="action" value="approve"><input name="allow" value="read_account"></form><script>document.forms[0].submit()</script>`;
  const others = await browser.newContext({ storageState: await person.storageState() }); // scripts and all
  const theirs = await others.newPage();
  for (const name of ["127.0.0.1", "localhost"]) {
    const at = `http://${name}:${elsewhere.address().port}/`;
    elsewhere.page = form;
    const [answer] = await Promise.all([theirs.waitForResponse((r) => r.request().method() === "POST"), theirs.goto(at)]);
    assert(answer.status() === 403 || answer.status() === 401, `a form of ${name} is answered ${answer.status()}`);

    // None of them shows it in a frame, over which to lay something else.
    elsewhere.page = `<iframe src="${robbed.approval.verification_uri_complete}"></iframe>`;
    await theirs.goto(at);
    const frame = theirs.frames().find((f) => f.parentFrame());
    await frame.waitForURL("chrome-error://**");
  }
  await page.goto(robbed.approval.verification_uri);
  assert.equal(await robbed.standing(), "pending");

  // Five wrong codes, and no right one is taken any more.
  for (let n = 0; n < 5; n++) {
    await page.goto(robbed.approval.verification_uri);
    await reach("#code");
    await page.keyboard.type("AAAA-AAAA");
    await enter();
    assert.match(await page.locator("[role=alert]").textContent(), /no request with this code/);
  }
  await page.goto(robbed.approval.verification_uri_complete);
  await look();
  assert.match(await page.locator("[role=alert]").textContent(), /too many wrong codes/);
  console.log(`ok   a person approves in Chromium, as ${picture} shows`);
} finally {
  await browser?.close();
  elsewhere.close();
  usher.kill("SIGTERM");
}
