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

const state = { documents: [], phrases: [], text: "", drawn: null, request: null, again: null, ownTags: false };

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

/**
 * Do what is asked and show the answer or the error. What is asked later replaces it; it is asked
 * again when the number of keyphrases changes.
 */
async function ask(name, answering) {
  state.request?.abort();
  const request = new AbortController();
  state.request = request;
  state.again = () => ask(name, answering);
  showProblem("");
  byId("busy").textContent = `Reading ${name}…`;
  try {
    const documents = await answering(request.signal);
    if (!request.signal.aborted) show(documents, name);
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
  ask("your text", async (signal) => {
    const given = { text, ...options() };
    if (given.vocabulary) given.vocabulary = given.vocabulary.split("\n");
    const headers = { "Content-Type": "application/json" };
    const asked = { body: JSON.stringify(given), headers };
    return (await answerOf(await send("v1/keyphrases", asked, signal))).documents;
  });
}

/** The options of a request: the number of keyphrases and the tags to choose from. */
function options() {
  const number = byId("number").value;
  const vocabulary = byId("vocabulary").value.split("\n").map((tag) => tag.trim()).filter(Boolean);
  return {
    ...(number && { top: Number(number) }),
    ...(vocabulary.length && { vocabulary: vocabulary.join("\n") }),
  };
}

async function answerOfFile(file, signal) {
  const body = new FormData();
  body.append("file", file);
  for (const [name, value] of Object.entries(options())) body.append(name, value);
  const answer = await answerOf(await send("v1/keyphrases/file", { body }, signal));
  return answer.documents.map((document) => ({ ...document, file: file.name, source: file }));
}

/** One file after the other: a file that cannot be read does not stop the others. */
async function answersOfFiles(files, signal) {
  const documents = [];
  const problems = [];
  for (const [at, file] of files.entries()) {
    byId("busy").textContent = `Reading file ${at + 1} of ${files.length}: ${file.name}…`;
    try {
      documents.push(...(await answerOfFile(file, signal)));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error.message.includes(file.name) ? error.message : `${file.name}: ${error.message}`);
    }
  }
  if (!documents.length) throw new Problem(problems.join(" "));
  if (problems.length) {
    const unread = `${problems.length} of ${counted(files.length, "file")} could not be read.`;
    showProblem(`${unread} ${problems.join(" ")}`);
  }
  return documents;
}

function askForFiles(list) {
  const files = [...list];
  if (files.length === 1) ask(files[0].name, (signal) => answerOfFile(files[0], signal));
  else if (files.length) ask(`${files.length} files`, (signal) => answersOfFiles(files, signal));
}

/** Tags from a list or a table, whose first column they are. */
async function readVocabulary(file) {
  if (!file) return;
  const table = /\.(csv|tsv)$/i.test(file.name);
  const lines = (await file.text()).replace(/^\ufeff/, "").split(/\r?\n/);
  const cell = (line) => line.split(/[,;\t]/)[0].replace(/^"|"$/g, "");
  const tags = (table ? lines.map(cell) : lines).map((tag) => tag.trim()).filter(Boolean);
  if (table && /^(terms?|tags?|preflabel|labels?)$/i.test(tags[0] ?? "")) tags.shift();
  byId("own-tags").open = true;
  byId("vocabulary").value = tags.join("\n");
  byId("vocabulary-said").textContent = `${counted(tags.length, "tag")} from ${file.name}.`;
}

function showProblem(message) {
  byId("problem").hidden = !message;
  byId("problem").textContent = message;
  if (message) byId("problem").scrollIntoView({ block: "nearest" });
}

// Showing an answer

function show(documents, name) {
  state.documents = documents;
  state.ownTags = Boolean(options().vocabulary);
  const titles = documents.map(({ file, title, id }, at) => {
    return file || title || id || `Document ${at + 1}`;
  });
  byId("which").replaceChildren(...titles.map((title, at) => new Option(title, at)));
  byId("file-rows").replaceChildren(...documents.map((document, at) => fileRow(document, titles[at])));
  byId("files").hidden = titles.length === 1;
  byId("answer").hidden = false;
  byId("answer-title").textContent = `Keyphrases of ${nameOf(documents, name)}`;
  showDocument(0);
  byId("answer-title").focus({ preventScroll: true });
  byId("answer").scrollIntoView({ block: "start" });
}

/** What was read: files that could not be read are named in the problem and not counted. */
function nameOf(documents, name) {
  const read = new Set(documents.map(({ source }) => source).filter(Boolean));
  if (read.size > 1) return counted(read.size, "file");
  return [...read][0]?.name ?? name;
}

function fileRow({ keyphrases }, title) {
  const head = make("th", "", title);
  head.scope = "row";
  const phrases = keyphrases.map((phrase) => phrase.text).join("; ") || "–";
  return make("tr", "", head, make("td", "", phrases));
}

function showDocument(number) {
  const { title, text, keyphrases, warnings } = state.documents[number];
  const offsets = utf16Offsets(text);
  state.text = flowing(text, title);
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

/**
 * The text without the line ends of its pages: after a line as long as those of a page, a single
 * line end is a blank. The length stays the same, and so do all places.
 */
function flowing(text, title) {
  const start = title ? title.length + 1 : 0;
  const lines = text.slice(start).split("\n");
  const ends = lines.map((line, at) => (line.length >= 40 && lines[at + 1] ? " " : "\n"));
  return text.slice(0, start) + lines.map((line, at) => line + ends[at]).join("").slice(0, -1);
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

/** The sum of the probabilities is the expected number of phrases that an author would choose. */
function summaryOf(phrases) {
  if (!state.phrases.length) return "No keyphrases were found in this text.";
  if (!phrases.length) return "No keyphrase is left: lower the probability or show both kinds.";
  const hidden = state.phrases.length - phrases.length;
  const count = counted(phrases.length, "keyphrase") + (hidden ? `, ${hidden} hidden` : "");
  const known = phrases.map((phrase) => phrase.probability).filter((p) => p != null);
  if (!known.length) return `${count}. This model gives no probabilities.`;
  if (state.ownTags) return `${count} from your tags, the most probable first.`;
  const expected = Math.max(1, Math.round(known.reduce((sum, p) => sum + p, 0)));
  if (phrases.length === 1) return `${count}.`;
  return `${count}. Authors list only a few of the phrases that fit: probably about ${expected} of these.`;
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

/** A cell that begins like a formula gets an apostrophe: spreadsheets would compute it. */
function csvCell(value) {
  const text = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

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

/** A table of all documents, as a file. */
function download() {
  const rows = state.documents.flatMap(({ file, title, id, keyphrases }, at) => {
    const name = csvCell(file || title || id || `Document ${at + 1}`);
    return keyphrases.map((phrase) => `${name},${csvRow(phrase)}`);
  });
  const table = ["document,keyphrase,probability,present", ...rows].join("\r\n") + "\r\n";
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", table], { type: "text/csv" }));
  link.download = "keyphrases.csv";
  link.click();
  URL.revokeObjectURL(link.href);
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
  askForFiles(event.target.files);
  event.target.value = ""; // so that the same file can be chosen again
});
byId("vocabulary-file").addEventListener("change", (event) => {
  readVocabulary(event.target.files[0]);
  event.target.value = "";
});
byId("number").addEventListener("change", () => {
  if (!byId("answer").hidden) state.again();
});
byId("download").addEventListener("click", download);
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
  if (event.target.closest?.("#own-tags")) readVocabulary(event.dataTransfer.files[0]);
  else askForFiles(event.dataTransfer.files);
});
