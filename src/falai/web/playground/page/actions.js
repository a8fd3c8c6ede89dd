/**
 * What a person can do here: each action asks the server, puts what it tells into the state, and says it aloud.
 *
 * A problem is kept with the place where it arose; the part of the page that has this place shows it.
 */

import { Lost, Refused, file, get, post } from "./api.js";
import { translator } from "./text/words.js";
import { focusBack } from "./ui.js";
/** @import { Server, Store } from "./types" */

const RETRY_MS = 2000;

export class Actions {
  /** @type {Store} */
  #store;
  #retrying = 0;
  /** The branch that was chosen last: the one that is shown, or will be when its state is here. @type {string | null} */
  #chosen = sessionStorage.branch;

  /** @param {Store} store */
  constructor(store) {
    this.#store = store;
  }

  /** Changes what the page remembers, as state.js says. @param {string} kind @param {Record<string, unknown>} [values] */
  set(kind, values = {}) {
    this.#store.dispatch({ kind, ...values });
  }

  /** Has a screen reader say it. @param {string} text */
  say(text) {
    this.set("said", { text });
  }

  // --- the conversation -------------------------------------------------------------------------

  /**
   * The state of a branch; without one, of the branch at hand. One that is gone was the server's before it was
   * started anew: then the newest is shown. An answer that another one has overtaken is left.
   * @param {string | null} [branch] @returns {Promise<void>}
   */
  async load(branch = this.#chosen) {
    const before = this.#state.server;
    this.#chosen = branch;
    try {
      const server = await get(branch ? `state?branch=${encodeURIComponent(branch)}` : "state");
      if (branch === this.#chosen && before === this.#state.server) this.#told(server);
    } catch (error) {
      if (branch && error instanceof Refused && error.document.status === 404) return this.load(null);
      this.#failed("page", error);
    }
  }

  /** A customer's message. One that got lost keeps its id, so that it counts once. @param {string} text */
  async send(text) {
    const { retry } = this.#state;
    const id = retry?.text === text ? retry.id : newId();
    const [branch, chosen] = [this.#branch, this.#chosen];
    const sent = await this.#at("chat", async () => {
      this.set("sent", { text, id });
      const hear = (/** @type {[string, any]} */ ...heard) => chosen === this.#chosen && this.#hear(...heard);
      const server = await post("message", { branch, text, id }, hear, true);
      if (chosen === this.#chosen) this.#told(server);
      this.set("settled");
    });
    if (!sent) this.set("draft", { text });
  }

  /** @param {string} text @param {string} by */
  async person(text, by) {
    if (!(await this.#change("chat", "person", { text, by }))) this.set("draft", { text });
  }

  /** A branch that stands as after turn `n`; what was said next is offered for change. @param {number} n */
  async takeBack(n) {
    const { branch, turns } = this.#state.server ?? {};
    const next = turns?.find((turn) => turn.n > n)?.input;
    const done = await this.#change("chat", "take-back", { branch, turn: n }, this.#t("branch.made", { n }));
    if (done) this.set("draft", { text: next?.kind === "message" ? (next.text ?? "") : "" });
  }

  fresh() {
    return this.#change("page", "new", { branch: undefined }, this.#t("branch.fresh"));
  }

  /** The other branch to compare with. @param {string} branch */
  compare(branch) {
    return this.#look("dialog", async () => {
      this.set("other", { server: await get(`state?branch=${encodeURIComponent(branch)}`) });
    });
  }

  /** Gives the conversation as a file to keep. */
  save() {
    return this.#look("page", async () => {
      const href = URL.createObjectURL(await file(`scenario?branch=${encodeURIComponent(this.#branch ?? "")}`));
      Object.assign(document.createElement("a"), { href, download: `${this.#branch}.json` }).click();
    });
  }

  // --- the world around it ----------------------------------------------------------------------

  /** @param {{ ms: number } | { next: true }} by */
  moveClock(by) {
    return this.#change("clock", "clock", by, this.#t("clock.moved"));
  }

  /** @param {string} name @param {unknown} payload */
  event(name, payload) {
    return this.#change("dialog", "event", { name, payload });
  }

  /** @param {string} flow @param {unknown} input */
  start(flow, input) {
    return this.#change("dialog", "start", { flow, input });
  }

  /** @param {boolean} closed @param {string} [reason] */
  gate(closed, reason = "") {
    const said = this.#t(closed ? "gate.shut" : "gate.opened");
    return this.#change(closed ? "dialog" : "chat", "gate", { closed, reason }, said);
  }

  /** @param {{ id: string, replies?: unknown[], name?: string }} choice */
  model(choice) {
    return this.#change("dialog", "model", choice, this.#t("model.changed"));
  }

  // --- flows ------------------------------------------------------------------------------------

  /** @param {string} flow */
  draw(flow) {
    return this.#look("graph", async () => {
      this.set("drawn", { flow, drawing: await get(`graph?flow=${encodeURIComponent(flow)}`) });
    });
  }

  loadSpec() {
    return this.#look("editor", async () => this.set("spec", { text: (await get("spec")).text }));
  }

  /** What is wrong in a text; an answer that comes when the text has changed again is left. @param {string} text */
  check(text) {
    return this.#look("editor", async () => {
      const { problems, graphs } = await post("spec/check", { text });
      if (this.#state.spec?.text === text) this.set("checked", { text, findings: problems, graphs });
    });
  }

  async apply() {
    const text = this.#state.spec?.text;
    if (await this.#change("editor", "spec/apply", { text }, this.#t("editor.applied"))) this.set("applied", { text });
  }

  // --- what they share --------------------------------------------------------------------------

  get #state() {
    return this.#store.get();
  }

  /** The branch that was chosen, though its state may still be on its way. */
  get #branch() {
    return this.#chosen ?? this.#state.server?.branch;
  }

  /** @param {string} key @param {Record<string, unknown>} [values] */
  #t(key, values) {
    return translator(this.#state.lang)(key, values);
  }

  /** What is done to the branch that was chosen; when another is chosen meanwhile, that one stays. */
  /** @param {string} place @param {string} path @param {object} body @param {string} [words] */
  #change(place, path, body, words) {
    return this.#at(place, async () => {
      const chosen = this.#chosen;
      const server = await post(path, { branch: this.#branch, ...body });
      const told = chosen === this.#chosen && this.#told(server);
      this.set("dialog", { dialog: "" });
      if (words && !told) this.say(words);
    });
  }

  /** Does something at a place, one thing at a time; true when it went well. */
  /** @param {string} place @param {() => Promise<void>} what */
  async #at(place, what) {
    if (this.#state.busy) return false;
    const { activeElement, body } = document;
    this.set("begun");
    const done = await this.#look(place, what);
    this.set("ended");
    // A button that cannot be pressed meanwhile loses the focus.
    requestAnimationFrame(() => document.activeElement === body && focusBack(/** @type {any} */ (activeElement)));
    return done;
  }

  /** Asks for something to be shown at a place, whatever else is under way; true when it went well. */
  /** @param {string} place @param {() => Promise<void>} what */
  async #look(place, what) {
    this.set("looked");
    try {
      await what();
      return true;
    } catch (error) {
      this.#failed(place, error);
      return false;
    }
  }

  /** @param {string} place @param {unknown} error */
  #failed(place, error) {
    if (error instanceof Lost) return this.#waitForServer();
    const document =
      error instanceof Refused ? error.document : { title: this.#t("problem.page"), detail: String(error) };
    if (document.status === 401) return this.set("shut");
    this.set("failed", { place, document });
    this.say(`${this.#t("problem.said")} ${document.detail || document.title}`);
  }

  #waitForServer() {
    if (!this.#state.lost) this.say(this.#t("lost"));
    this.set("lost");
    clearTimeout(this.#retrying);
    this.#retrying = setTimeout(() => this.load(), RETRY_MS);
  }

  /** Takes over what the server told; true when that has new words, which are said. @param {Server} server */
  #told(server) {
    const before = this.#state.server;
    this.#chosen = sessionStorage.branch = server.branch;
    this.set("told", { server });
    if (before?.branch !== server.branch) return false;
    const seen = new Set(messagesOf(before).map(({ id }) => id));
    const fresh = messagesOf(server).filter(({ id }) => !seen.has(id));
    if (fresh.length) this.say(fresh.map(({ text }) => text).join(" "));
    return fresh.length > 0;
  }

  /** @param {string} event @param {any} data */
  #hear(event, data) {
    if (event === "delta") this.set("word", { text: data.text });
    if (event === "withdrawn") this.set("withdrawn");
  }
}

/** @param {Server} server */
const messagesOf = (server) => server.turns.flatMap(({ messages }) => messages);

/** An id that no other message has; `randomUUID` exists on secure origins only. */
const newId = () =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
