// The page of the service. Document text enters the page as text, never as markup.

const byId = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)}%`;
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function make(tag, kind, ...children) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...children);
  return element;
}

// An invented abstract.
const EXAMPLE = `Saving energy in wireless sensor networks that watch rivers

Wireless sensor networks warn villages of floods, but their batteries last only weeks. We \
present a routing protocol that lets sensor nodes sleep most of the time. Nodes form clusters, \
and the cluster head is chosen by its remaining energy and by its distance to the base station. \
A node predicts the next water level from the last ones with a Kalman filter, and sends its \
measurement only if the prediction was wrong. Simulation with two years of river data shows that \
energy consumption falls by 61 percent and that the network lifetime doubles, while the delay of \
a flood warning stays below four seconds. A field test with forty nodes on a mountain river \
confirmed these results over one winter.`;

const state = { documents: [], phrases: [], text: "", drawn: null, request: null };

// Requests to the service

class Problem extends Error {}

function retryHint(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  return seconds > 0 ? ` Try again in ${counted(seconds, "second")}.` : "";
}

async function answerOf(response) {
  const answer = await response.json().catch(() => null);
  if (response.ok && Array.isArray(answer?.documents) && answer.documents.length) return answer;
  if (response.status === 401) askForKey();
  const message = answer?.error?.message;
  if (message) {
    const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
    throw new Problem(sentence + (sentence.includes("again") ? "" : retryHint(response)));
  }
  if (response.ok) throw new Problem("The service sent an answer that this page cannot read.");
  const status = `(status ${response.status})`;
  throw new Problem(`The service could not answer ${status}.${retryHint(response)}`);
}

function askForKey() {
  byId("key-row").hidden = false;
  byId("key").focus();
}

async function send(address, options, signal) {
  const headers = { Accept: "application/json", ...options.headers };
  const key = byId("key").value.trim();
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    return await fetch(address, { method: "POST", ...options, headers, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem("The service does not answer. Check that it is running, then try again.");
  }
}

/** Send a request and show the answer or the error. A new request replaces the previous one. */
async function ask(name, address, options) {
  state.request?.abort();
  const request = new AbortController();
  state.request = request;
  showProblem("");
  byId("busy").textContent = `Reading ${name}…`;
  try {
    const answer = await answerOf(await send(address, options, request.signal));
    if (!request.signal.aborted) show(answer, name);
  } catch (error) {
    if (request.signal.aborted) return;
    byId("answer").hidden = true; // it belongs to an earlier request
    showProblem(error instanceof Problem ? error.message : `This page failed: ${error.message}.`);
    if (!(error instanceof Problem)) throw error;
  } finally {
    if (state.request === request) byId("busy").textContent = "";
  }
}

function askForText() {
  const text = byId("text").value;
  if (!text.trim()) {
    showProblem("There is no text yet. Paste some text, choose a file or try the example.");
    byId("text").focus();
    return;
  }
  const body = JSON.stringify({ text });
  ask("your text", "v1/keyphrases", { body, headers: { "Content-Type": "application/json" } });
}

function askForFile(file) {
  if (!file) return;
  const body = new FormData();
  body.append("file", file);
  ask(file.name, "v1/keyphrases/file", { body });
}

function showProblem(message) {
  byId("problem").hidden = !message;
  byId("problem").textContent = message;
  if (message) byId("problem").scrollIntoView({ block: "nearest" });
}

// Showing an answer

function show(answer, name) {
  state.documents = answer.documents;
  const titles = state.documents.map(({ title, id }, at) => title || id || `Document ${at + 1}`);
  byId("which").replaceChildren(...titles.map((title, at) => new Option(title, at)));
  byId("which-row").hidden = titles.length === 1;
  byId("answer").hidden = false;
  byId("answer-title").textContent = `Keyphrases of ${name}`;
  showDocument(0);
  byId("answer-title").focus({ preventScroll: true });
  byId("answer").scrollIntoView({ block: "start" });
}

function showDocument(number) {
  const { text, keyphrases, warnings } = state.documents[number];
  const offsets = utf16Offsets(text);
  state.text = text;
  state.phrases = keyphrases.map((phrase, at) => {
    return { ...phrase, at, spans: spansOf(phrase, text, offsets) };
  });
  byId("warnings").replaceChildren(...(warnings ?? []).map((warning) => make("li", "", warning)));
  const hasProbabilities = keyphrases.some((phrase) => phrase.probability != null);
  byId("least").disabled = !hasProbabilities;
  byId("least").value = 0;
  byId("show-present").checked = byId("show-absent").checked = true;
  byId("copied").textContent = "";
  byId("by-hand").hidden = true;
  byId("reading").scrollTop = 0;
  state.drawn = null;
  update();
}

/** Where each character starts: the service counts code points, browsers count UTF-16 units. */
function utf16Offsets(text) {
  const offsets = [0];
  let at = 0;
  for (const character of text) offsets.push((at += character.length));
  return offsets;
}

/** What to highlight in the text: the places of a present phrase, the evidence of an absent one. */
function spansOf(phrase, text, offsets) {
  if (phrase.present) return phrase.places.map(([start, end]) => [offsets[start], offsets[end]]);
  if (!phrase.evidence) return [];
  // Evidence is a single line; in the text its words may be spread over several lines.
  const literal = phrase.evidence.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const found = new RegExp(literal.replace(/\s+/g, "\\s+")).exec(text);
  return found ? [[found.index, found.index + found[0].length]] : [];
}

function shown() {
  const least = Number(byId("least").value);
  const kind = { true: byId("show-present").checked, false: byId("show-absent").checked };
  // Rounded as on the chips: a phrase shown with 40% counts as at least 40%.
  const reaches = ({ probability }) => Math.round(100 * (probability ?? 1)) >= least;
  return state.phrases.filter((phrase) => kind[phrase.present] && reaches(phrase));
}

function update() {
  const phrases = shown();
  const least = byId("least");
  byId("least-shown").textContent = least.disabled ? "–" : `${least.value}%`;
  least.setAttribute("aria-valuetext", `at least ${least.value}%`);
  // Most steps of the slider change nothing, and marking a long text takes a while.
  const drawn = phrases.map((phrase) => phrase.at).join(" ");
  if (drawn === state.drawn) return;
  state.drawn = drawn;
  showPart("present", phrases.filter((phrase) => phrase.present), presentItems);
  showPart("absent", phrases.filter((phrase) => !phrase.present), absentItems);
  byId("evidence-note").hidden = !phrases.some((phrase) => phrase.evidence);
  byId("reading").replaceChildren(...marked(state.text, phrases));
  byId("summary").textContent = summaryOf(phrases);
}

function showPart(kind, phrases, items) {
  const all = state.phrases.filter((phrase) => phrase.present === (kind === "present"));
  byId(`count-${kind}`).textContent = `(${all.length})`;
  byId(kind).replaceChildren(...items(phrases));
  byId(`${kind}-part`).hidden = !phrases.length;
}

/** The expected precision is the mean probability of the phrases shown. */
function summaryOf(phrases) {
  if (!state.phrases.length) return "No keyphrases were found in this text.";
  if (!phrases.length) return "No keyphrase is left: lower the confidence or show both kinds.";
  const count = `${phrases.length} of ${counted(state.phrases.length, "keyphrase")} shown`;
  const known = phrases.map((phrase) => phrase.probability).filter((p) => p != null);
  if (!known.length) return `${count}. This model gives no probabilities.`;
  const mean = known.reduce((sum, probability) => sum + probability, 0) / known.length;
  return `${count}; expect ${percent(mean)} of them to be correct.`;
}

function chip(phrase) {
  const button = make("button", `chip ${phrase.present ? "present" : "absent"}`, phrase.text);
  button.type = "button";
  button.id = `phrase-${phrase.at}`;
  button.dataset.phrases = phrase.at;
  button.style.setProperty("--size", phrase.probability ?? 0.5);
  if (phrase.probability != null) {
    button.append(" ", make("span", "probability", percent(phrase.probability)));
  }
  if (phrase.present) {
    const places = counted(phrase.places.length, "place");
    button.append(make("span", "unseen", `, ${places} in the text`));
  }
  return button;
}

function presentItems(phrases) {
  return phrases.map((phrase) => make("li", "", chip(phrase)));
}

/** Adjacent phrases with the same evidence show it once. */
function absentItems(phrases) {
  const groups = [];
  for (const phrase of phrases) {
    const last = groups.at(-1);
    if (last && last[0].evidence === phrase.evidence) last.push(phrase);
    else groups.push([phrase]);
  }
  return groups.map((group) => {
    const item = make("li", "", make("div", "chips", ...group.map(chip)));
    if (group[0].evidence) item.append(make("q", "", group[0].evidence));
    return item;
  });
}

// The text with its marks

/** The text in pieces, each covered by a fixed set of phrases, because phrases overlap. */
function marked(text, phrases) {
  const edges = new Map([[0, []], [text.length, []]]);
  for (const phrase of phrases) {
    for (const [start, end] of phrase.spans) {
      for (const edge of [start, end]) if (!edges.has(edge)) edges.set(edge, []);
      edges.get(start).push([phrase, 1]);
      edges.get(end).push([phrase, -1]);
    }
  }
  const cuts = [...edges.keys()].sort((a, b) => a - b);
  const depth = new Map();
  const reached = new Set();
  return cuts.slice(0, -1).map((start, number) => {
    for (const [phrase, step] of edges.get(start)) {
      depth.set(phrase, (depth.get(phrase) ?? 0) + step);
      if (!depth.get(phrase)) depth.delete(phrase);
    }
    return piece(text.slice(start, cuts[number + 1]), [...depth.keys()], reached);
  });
}

function piece(words, covering, reached) {
  if (!covering.length) return document.createTextNode(words);
  const present = covering.filter((phrase) => phrase.present);
  const element = make(present.length ? "a" : "span", "", words);
  element.dataset.phrases = covering.map((phrase) => phrase.at).join(" ");
  if (present.length) {
    const best = present.reduce((a, b) => (a.at < b.at ? a : b));
    element.href = `#phrase-${best.at}`;
    // The Tab key stops once per phrase: a long text has hundreds of marks.
    element.tabIndex = reached.has(best.at) ? -1 : 0;
    reached.add(best.at);
  }
  return element;
}

// Hover and focus highlight a phrase both in the list and in the text

function numbersOf(element) {
  return element?.closest("[data-phrases]")?.dataset.phrases.split(" ") ?? [];
}

/** In the text only present phrases react to the pointer; evidence would be a whole sentence. */
function pointedAt(element) {
  const numbers = numbersOf(element);
  const present = numbers.filter((number) => state.phrases[number].present);
  return element?.closest("#reading") ? present : numbers;
}

/** The pointer takes precedence over the focus. */
function light(element) {
  const pointed = pointedAt(element);
  const numbers = new Set(pointed.length ? pointed : pointedAt(document.activeElement));
  for (const mark of byId("answer").querySelectorAll("[data-phrases]")) {
    mark.classList.toggle("lit", numbersOf(mark).some((number) => numbers.has(number)));
  }
}

/** Clicking a chip scrolls to the phrase's next place in the text. */
function goToNextPlace(button) {
  button.focus();
  light(button);
  const number = button.dataset.phrases;
  const pieces = [...byId("reading").querySelectorAll("[data-phrases]")];
  const own = pieces.filter((piece) => numbersOf(piece).includes(number));
  const firsts = own.filter((piece) => !own.includes(piece.previousSibling));
  if (!firsts.length) return;
  const next = Number(button.dataset.next ?? 0) % firsts.length;
  button.dataset.next = next + 1;
  firsts[next].scrollIntoView({ block: "center" });
}

// Copying

const TEX_NAMES = { "\\": "textbackslash{}", "~": "textasciitilde{}", "^": "textasciicircum{}" };

const bibtexSafe = (text) =>
  text.replace(/[\\{}&%$#_~^]/g, (mark) => `\\${TEX_NAMES[mark] ?? mark}`);

const csvCell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

const csvRow = ({ text, probability, present }) =>
  [csvCell(text), probability ?? "", present].join(",");

const FORMATS = {
  list: (phrases) => phrases.map((phrase) => phrase.text).join("\n"),
  csv: (phrases) => ["keyphrase,probability,present", ...phrases.map(csvRow)].join("\n") + "\n",
  json: (phrases) => JSON.stringify(phrases.map(({ at, spans, ...phrase }) => phrase), null, 2),
  bibtex: (phrases) => `keywords = {${phrases.map(({ text }) => bibtexSafe(text)).join(", ")}},`,
};

async function copy(button) {
  const phrases = shown();
  const text = FORMATS[button.dataset.copy](phrases);
  byId("by-hand").hidden = true;
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = `Copied ${counted(phrases.length, "keyphrase")}.`;
  } catch {
    // No clipboard without https or without the user's permission: offer the text to copy by hand.
    byId("copied").textContent = "";
    byId("by-hand").hidden = false;
    byId("copy-text").value = text;
    byId("copy-text").select();
  }
}

// Events

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  askForText();
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) askForText();
});
byId("file").addEventListener("change", (event) => {
  askForFile(event.target.files[0]);
  event.target.value = ""; // so that the same file can be chosen again
});
byId("example").addEventListener("click", () => {
  byId("text").value = EXAMPLE;
  askForText();
});
byId("clear").addEventListener("click", () => {
  state.request?.abort();
  byId("busy").textContent = "";
  byId("text").value = "";
  byId("answer").hidden = true;
  showProblem("");
  byId("text").focus();
});
byId("which").addEventListener("change", (event) => showDocument(Number(event.target.value)));
for (const id of ["least", "show-present", "show-absent"]) {
  byId(id).addEventListener("input", update);
}
byId("controls").addEventListener("click", (event) => {
  if (event.target.dataset.copy) copy(event.target);
});

byId("answer").addEventListener("pointerover", (event) => light(event.target));
byId("answer").addEventListener("pointerleave", () => light(null));
byId("answer").addEventListener("focusin", (event) => light(event.target));
byId("answer").addEventListener("focusout", () => light(null));
byId("answer").addEventListener("click", (event) => {
  const mark = event.target.closest("#reading a");
  const button = event.target.closest(".chip");
  if (mark) {
    event.preventDefault();
    byId(mark.hash.slice(1)).focus();
  } else if (button) goToNextPlace(button);
});

const holdsFile = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragover", (event) => {
  if (!holdsFile(event)) return;
  event.preventDefault();
  byId("drop").hidden = false;
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) byId("drop").hidden = true;
});
addEventListener("drop", (event) => {
  if (!holdsFile(event)) return;
  event.preventDefault();
  byId("drop").hidden = true;
  askForFile(event.dataTransfer.files[0]);
});
