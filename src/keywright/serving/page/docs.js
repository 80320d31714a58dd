// The try-out forms of /docs: each sends its request and shows the answer as text.

async function send(form) {
  const { method, path, kind } = form.dataset;
  const output = form.querySelector("output");
  const headers = {};
  const key = document.getElementById("key")?.value.trim();
  if (key) headers.Authorization = `Bearer ${key}`;
  let body;
  if (kind === "application/json") {
    headers["Content-Type"] = kind;
    body = form.elements.body.value;
  } else if (kind) {
    body = new FormData(form);
    // A file of the browser, or the text as a file.
    if (!body.get("file")?.size) body.set("file", new Blob([form.elements.example.value]), "note.txt");
    body.delete("example");
  }
  output.textContent = "…";
  try {
    const answer = await fetch(path, { method, headers, body });
    const text = await answer.text();
    const shown = answer.headers.get("Content-Type")?.includes("json") ? pretty(text) : text;
    output.textContent = `${answer.status} ${answer.statusText}\n\n${shown}`;
  } catch {
    output.textContent = "The service does not answer.";
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

for (const form of document.querySelectorAll("form.try")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}
