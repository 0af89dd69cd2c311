
const form = document.querySelector("form[data-press]"), go = document.getElementById("passkey"), said = document.getElementById("said");
const bytes = (t) => Uint8Array.from(atob(t.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (b) => btoa(String.fromCharCode(...new Uint8Array(b))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const ids = (list) => (list || []).map((c) => ({...c, id: bytes(c.id)}));
const ask = async (kind) => {
  const o = JSON.parse(form.dataset[kind]);
  o.challenge = bytes(o.challenge);
  if (kind === "create") {
    o.user.id = bytes(o.user.id);
    o.excludeCredentials = ids(o.excludeCredentials);
  } else {
    o.allowCredentials = ids(o.allowCredentials);
  }
  const c = await navigator.credentials[kind]({publicKey: o}), r = c.response;
  const out = {id: c.id, rawId: text(c.rawId), type: c.type, response: {clientDataJSON: text(r.clientDataJSON)}};
  if (kind === "create") {
    out.response.attestationObject = text(r.attestationObject);
    out.response.transports = r.getTransports ? r.getTransports() : [];
  } else {
    out.response.authenticatorData = text(r.authenticatorData);
    out.response.signature = text(r.signature);
    if (r.userHandle && r.userHandle.byteLength) out.response.userHandle = text(r.userHandle);
  }
  form.elements["passkey-" + kind].value = JSON.stringify(out);
};
const left = ["get", "create"].filter((kind) => form.dataset[kind]);
go.addEventListener("click", async () => {
  go.disabled = true;
  try {
    await ask(left[0]);
    left.shift();
    if (left.length) said.textContent = "Confirmed. Press once more to make the new passkey.";
    else form.requestSubmit(form.querySelector("button[value=" + form.dataset.press + "]"));
  } catch (e) {
    said.textContent = "The browser says: " + e.message;
  }
  go.disabled = false;
});
