// A person makes a passkey in Chromium, and approves with it what an agent asks for: exactly
// that. The authenticator is Chromium's own virtual one.
//
//   npm install && node passkey.mjs     with usher from the PATH or $USHER, and Chromium from
//                                       where it usually is or $CHROMIUM
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { Host } from "./wire.mjs";

const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find(existsSync);
assert(executablePath, "no Chromium is here: install it, or say in CHROMIUM where it is");
const port = await new Promise((done) => {
  const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => done(port)); });
});
const url = `http://localhost:${port}`;
const dir = mkdtempSync(join(tmpdir(), "usher-passkey-"));
writeFileSync(join(dir, "usher.yaml"), `name: Bank
models: {default: {provider: offline}}
agentauth:
  issuer: ${url}
  capabilities:
    - {name: write_account, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}], approval: webauthn}
`);

const usher = spawn(process.env.USHER ?? "usher", ["serve", "--listen", `127.0.0.1:${port}`, "--json"], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
let browser;
try {
  const first = await new Promise((done) => createInterface({ input: usher.stdout }).once("line", done));
  const { token } = JSON.parse(first);
  browser = await chromium.launch({ executablePath });
  const page = await browser.newPage();
  const authenticator = await page.context().newCDPSession(page);
  await authenticator.send("WebAuthn.enable");
  const add = (transport) => authenticator.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const stick = await add("usb");
  const errors = [];
  page.on("console", (m) => { if (m.type() === "error" && !/40\d/.test(m.text())) errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  const main = () => page.locator("main").textContent();
  const press = async (name) => { await Promise.all([page.waitForNavigation(), page.getByRole("button", { name, exact: true }).click()]); };

  await page.goto(`${url}/login?to=/agent/passkeys`);
  await page.locator("input[name=token]").fill(token);
  await press("Sign in");

  // Without a passkey nothing is approved.
  const agent = await new Host(url).register("Clerk", ["write_account"], "to file");
  const look = async () => { await page.goto(agent.approval.verification_uri_complete); await press("Continue"); };
  await look();
  await press("Approve");
  assert.match(await page.locator("[role=alert]").textContent(), /you have none/);

  // One is made, and a second with its word: one press each.
  const make = async (name, presses) => {
    await page.goto(`${url}/agent/passkeys`);
    await page.getByLabel("Name of a new one").fill(name);
    await press("Make a passkey");
    if (presses === 2) {
      await page.getByRole("button", { name: "Use your passkey" }).click();
      await page.getByText("Press once more").waitFor();
    }
  };
  await make("Stick", 1);
  await press("Use your passkey");
  assert.match(await main(), /The passkey was made\./);
  await make("Phone", 2);
  await authenticator.send("WebAuthn.setAutomaticPresenceSimulation", { ...stick, enabled: false }); // nobody touches the one that has a passkey
  await add("internal");
  await press("Use your passkey");
  assert.match(await main(), /Stick[^]*Phone/);

  // It confirms what stood on the page when it was asked, and nothing else.
  await look();
  await page.locator("#limit-write_account").fill('{"value": {"max": 5}}');
  await press("Approve");
  await page.locator("#limit-write_account").fill('{"value": {"max": 500}}');
  await press("Use your passkey");
  assert.match(await page.locator("[role=alert]").textContent(), /not confirmed exactly this/);
  await page.locator("#limit-write_account").fill('{"value": {"max": 5}}');
  await press("Approve");
  await press("Use your passkey");
  assert.match(await main(), /You have approved 1 of 1\./);
  const write = (value) => agent.execute("write_account", { path: "w/accounts/one", value });
  assert.equal((await write(5)).status, 200);
  assert.equal((await write(6)).body.error, "constraint_violated");

  await page.goto(`${url}/agent/passkeys`);
  await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Remove" }).first().click()]);
  await press("Use your passkey");
  assert.match(await main(), /The passkey was removed\./);
  assert.deepEqual(errors, []);
  console.log("ok   a person approves with a passkey in Chromium");
} finally {
  await browser?.close();
  usher.kill("SIGTERM");
}
