/**
 * The way to the server: a question in, JSON or a stream of events out.
 *
 * Two things can go wrong and no others: the server says no (`Refused`, with its problem document), or it
 * does not answer at all (`Lost`).
 */

/** @import { ProblemDocument } from "./types" */

/** The server said no. */
export class Refused extends Error {
  /** @param {ProblemDocument} document */
  constructor(document) {
    super(document.detail || document.title);
    this.document = document;
  }
}

/** The server does not answer. */
export class Lost extends Error {}

/** A question that is not answered in time is lost, and asked again: nothing is done by it. @param {string} path */
export const get = async (path) => (await answered(path, { signal: AbortSignal.timeout(10000) })).json();

/**
 * Asks for something to be done. `hear` is told each event of an answer that streams; the result is what its
 * `state` event brought, or the JSON of an answer in one piece.
 * @param {string} path @param {unknown} body @param {(event: string, data: any) => void} [hear] @param {boolean} [stream]
 */
export async function post(path, body, hear = () => {}, stream = false) {
  const response = await answered(path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: stream ? "text/event-stream" : "application/json",
      "X-Falai": "playground",
    },
    body: JSON.stringify(body),
  });
  return isStream(response) ? heard(response, hear) : response.json();
}

/** @param {string} path */
export const file = async (path) => (await answered(path, {})).blob();

/** @param {string} path @param {RequestInit} request */
async function answered(path, request) {
  const response = await reached(fetch(`api/${path}`, { credentials: "same-origin", ...request }));
  if (!response.ok) throw new Refused(await problemOf(response));
  return response;
}

/** What a promise of the network gives; raises `Lost` when it breaks. @template T @param {Promise<T>} promise */
const reached = (promise) =>
  promise.catch((error) => {
    throw new Lost(error.message);
  });

/** @param {Response} response */
async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  return { title: response.statusText, ...told, status: response.status };
}

/** @param {Response} response */
const isStream = (response) => response.headers.get("Content-Type")?.startsWith("text/event-stream");

/** @param {Response} response @param {(event: string, data: any) => void} hear */
async function heard(response, hear) {
  let state = null;
  for await (const { event, data } of events(/** @type {ReadableStream<any>} */ (response.body))) {
    if (event === "problem") throw new Refused(data);
    if (event === "state") state = data;
    hear(event, data);
  }
  if (!state) throw new Lost("the stream ended early");
  return state;
}

/** The events of a stream (SSE), one after the other. @param {ReadableStream<any>} body */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reached(reader.read());
    const blocks = (rest + (value ?? "")).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) if (/^data:/m.test(block)) yield eventOf(block);
    if (done) return;
  }
}

/** @param {string} block */
function eventOf(block) {
  const lines = block.split(/\r?\n/);
  const of = (/** @type {string} */ name) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  return { event: of("event")[0] ?? "message", data: JSON.parse(of("data").join("\n")) };
}
