/** The dialogs: one at a time, named by `state.dialog`. Escape and a click beside it close it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Exchange } from "./chat.js";
import { inline } from "./text/words.js";
import { branchTitle } from "./state.js";
import { Empty, Icon, Problem, Section, Select, focusBack, html, into, useApp } from "./ui.js";
/** @import { ModelChoice, Server, Turn } from "./types" */

/** @type {Record<string, () => any>} */
const DIALOGS = {
  event: EventForm,
  start: StartForm,
  gate: GateForm,
  clock: ClockForm,
  model: ModelForm,
  compare: Compare,
};

export function Dialogs() {
  const { state } = useApp();
  const Shown = DIALOGS[state.dialog];
  return Shown ? html`<${Dialog} key=${state.dialog} name=${state.dialog}><${Shown} /><//>` : null;
}

/** @param {{ name: string, children: any }} props */
function Dialog({ name, children }) {
  const { act, t } = useApp();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const opener = /** @type {HTMLElement} */ (document.activeElement);
    dialog.current?.showModal();
    // Not from where one has gone by then: Escape gives the focus back itself, a moment before the dialog ends.
    return () => document.activeElement?.matches("body, dialog, dialog *") && focusBack(opener);
  }, []);
  const close = () => act.set("dialog", { dialog: "" });
  const beside = (/** @type {Event} */ event) => event.target === dialog.current && close();
  return html`<dialog ref=${dialog} class=${`for-${name}`} aria-labelledby="dialog-title" onClose=${close} onClick=${beside}>
    <div class="dialog-body">
      <header><h2 id="dialog-title">${t(`${name}.title`)}</h2>
        <button type="button" class="plain" onClick=${close} aria-label=${t("dialog.close")}><${Icon} name="close" /></button>
      </header>
      ${children}
      <${Problem} at="dialog" />
    </div>
  </dialog>`;
}

/** A form with its way out and its way on. @param {{ send: () => void, label: string, disabled?: boolean, children: any }} props */
export function Form({ send, label, disabled, children }) {
  const { state } = useApp();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send();
  };
  return html`<form onSubmit=${submit}>${children}
    <div class="row end"><button class="primary" disabled=${disabled || state.busy}>${label}</button></div>
  </form>`;
}

/** A labelled box for JSON; empty is nothing. @param {{ label: string, value: string, set: (text: string) => void }} props */
function JsonBox({ label, value, set }) {
  const { t } = useApp();
  const wrong = parsed(value).error;
  return html`<label>${label}
    <textarea class="code" rows="4" spellcheck=${false} value=${value} aria-invalid=${!!wrong} aria-describedby="json-help"
      placeholder='{"key": "value"}' onInput=${into(set)}></textarea>
    <span id="json-help" class=${wrong ? "wrong" : "soft"}>${wrong ? t("json.wrong", { why: wrong }) : t("json.help")}</span>
  </label>`;
}

/** @param {string} text @returns {{ value?: unknown, error?: string }} */
function parsed(text) {
  try {
    return text.trim() ? { value: JSON.parse(text) } : {};
  } catch (error) {
    return { error: /** @type {Error} */ (error).message };
  }
}

function EventForm() {
  const { state, act, t } = useApp();
  const events = state.server?.agent.events ?? [];
  const [name, setName] = useState(events[0] ?? "");
  const [text, setText] = useState("");
  const { value, error } = parsed(text);
  return html`<${Form} send=${() => act.event(name.trim(), value)} label=${t("event.send")} disabled=${!name.trim() || !!error}>
    <p>${t("event.help")}</p>
    <label>${t("name")}
      <input list="events" required value=${name} onInput=${into(setName)} /></label>
    <datalist id="events">${events.map((event) => html`<option value=${event}></option>`)}</datalist>
    <${JsonBox} label=${t("event.payload")} value=${text} set=${setText} />
  <//>`;
}

function StartForm() {
  const { state, act, t } = useApp();
  const flows = state.server?.agent.flows ?? [];
  const [flow, setFlow] = useState(flows[0]?.id ?? "");
  const [text, setText] = useState("");
  const { value, error } = parsed(text);
  return html`<${Form} send=${() => act.start(flow, value)} label=${t("start.send")} disabled=${!flow || !!error}>
    <p>${t("start.help")}</p>
    <label>${t("flow")}
      <${Select} value=${flow} set=${setFlow} options=${flows.map(({ id, name }) => [id, name || id])} /></label>
    <${JsonBox} label=${t("start.input")} value=${text} set=${setText} />
  <//>`;
}

function GateForm() {
  const { act, t } = useApp();
  const [reason, setReason] = useState("");
  return html`<${Form} send=${() => act.gate(true, reason)} label=${t("gate.close")}>
    <p>${t("gate.help")}</p>
    <label>${t("gate.reason")}
      <input value=${reason} onInput=${into(setReason)} /></label>
  <//>`;
}

const UNITS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

function ClockForm() {
  const { act, t } = useApp();
  const [amount, setAmount] = useState("3");
  const [unit, setUnit] = useState(/** @type {keyof typeof UNITS} */ ("days"));
  const ms = Math.round(Number(amount) * UNITS[unit]);
  return html`<${Form} send=${() => act.moveClock({ ms })} label=${t("clock.move")} disabled=${!(ms > 0)}>
    <p>${t("clock.help")}</p>
    <div class="row">
      <label>${t("clock.amount")}
        <input type="number" min="1" max="1e10" step="any" value=${amount} onInput=${into(setAmount)} /></label>
      <label>${t("clock.unit")}
        <${Select} value=${unit} set=${setUnit} options=${Object.keys(UNITS).map((one) => [one, t(`clock.${one}`)])} /></label>
    </div>
    <${Problem} at="clock" />
  <//>`;
}

// --- which model speaks -----------------------------------------------------------------------

export function ModelForm() {
  const { state, act, t } = useApp();
  const agent = state.server?.agent;
  const [id, setId] = useState(agent?.model ?? "lexical");
  const [name, setName] = useState("");
  const [replies, setReplies] = useState([{ call: "speak", reply: "" }]);
  const send = () =>
    act.model({ id, ...(id === "scripted" && { replies: queueOf(replies) }), ...(id === "real" && name && { name }) });
  return html`<${Form} send=${send} label=${t("model.use")}>
    <fieldset><legend class="sr">${t("model.title")}</legend>
      ${agent?.models.map(
        (model) => html`<${Choice} model=${model} chosen=${id === model.id}
        choose=${() => setId(model.id)} />`,
      )}
    </fieldset>
    ${id === "scripted" && html`<${Queue} replies=${replies} set=${setReplies} />`}
    ${
      id === "real" &&
      html`<label>${t("model.name")}<input value=${name}
        required=${!agent?.models.find((model) => model.id === id)?.available}
          placeholder="openai:gpt-5-mini" onInput=${into(setName)} /></label>`
    }
  <//>`;
}

/** @param {{ model: ModelChoice, chosen: boolean, choose: () => void }} props */
function Choice({ model: { id, label, available, why }, chosen, choose }) {
  const { t } = useApp();
  return html`<label class="choice">
    <input type="radio" name="model" value=${id} checked=${chosen} onChange=${choose} />
    <span><strong>${t(`model.${id}`, { or: label })}</strong>
      <span class="soft">${t(`model.${id}.long`, { or: label })} ${!available && why}</span></span>
  </label>`;
}

/** @typedef {{ call: string, reply: string }} Reply */

const CALLS = ["understand", "speak"].map((call) => [call, call]);

/** The replies in the order in which they are given. @param {{ replies: Reply[], set: (replies: Reply[]) => void }} props */
function Queue({ replies, set }) {
  const { state, t } = useApp();
  const queued = state.server?.agent.queued;
  const change = (/** @type {number} */ at, /** @type {Partial<Reply>} */ part) =>
    set(replies.map((reply, i) => (i === at ? { ...reply, ...part } : reply)));
  return html`<div class="queue"><p>${t("queue.help")} ${!!queued && t("queue.left", { n: queued })}</p>
    <ol>${replies.map(
      ({ call, reply }, at) => html`<li class="row">
        <${Select} label=${t("queue.call")} value=${call} options=${CALLS}
          set=${(/** @type {string} */ call) => change(at, { call })} />
        <textarea class="code" rows="2" aria-label=${t("calls.reply")} placeholder=${t(`queue.${call}`)} value=${reply}
          onInput=${into((reply) => change(at, { reply }))}></textarea>
        <button type="button" class="plain" aria-label=${t("queue.remove")}
          onClick=${() => set(replies.filter((_, i) => i !== at))}><${Icon} name="close" /></button>
      </li>`,
    )}</ol>
    <button type="button" onClick=${() => set([...replies, { call: "speak", reply: "" }])}>
      <${Icon} name="plus" />${t("queue.add")}</button>
  </div>`;
}

/** A reply that is JSON goes as what it says, any other as text. @param {Reply[]} replies */
const queueOf = (replies) =>
  replies.filter(({ reply }) => reply.trim()).map(({ call, reply }) => ({ call, reply: valueOf(reply) }));

/** @param {string} text */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// --- two branches side by side: what they share is left out, then where their fields differ -------

function Compare() {
  const { state, act, t } = useApp();
  const { server, other } = state;
  const others = server?.branches.filter(({ id }) => id !== server.branch) ?? [];
  const first = server?.branches.find(({ id }) => id === server.branch)?.from ?? others.at(-1)?.id;
  useEffect(() => void (first && act.compare(first)), []);
  const title = (/** @type {string} */ id) => {
    const at = server?.branches.findIndex((branch) => branch.id === id) ?? 0;
    return server ? branchTitle(server.branches[at], at, t) : "";
  };
  return html`<label>${t("compare.with")}
      <${Select} value=${other?.branch ?? first} set=${(/** @type {string} */ id) => act.compare(id)}
        options=${others.map(({ id }) => [id, title(id)])} /></label>
    ${server && other && html`<${Sides} left=${server} right=${other} title=${title} />`}`;
}

/** @param {{ left: Server, right: Server, title: (id: string) => string }} props */
function Sides({ left, right, title }) {
  const { t } = useApp();
  const shared = sharedTurns(left, right);
  const sides = [left, right];
  return html`<p class="soft">${t("compare.shared", { n: shared })}</p>
    <div class="sides">${sides.map(
      (side) => html`<section aria-label=${title(side.branch)}><h3>${title(side.branch)}</h3>
        ${side.turns.slice(shared).map((turn) => html`<div class="turn"><${Exchange} turn=${turn} /></div>`)}
        ${side.turns.length === shared && html`<${Empty}>${t("compare.none")}<//>`}
      </section>`,
    )}</div>
    <${Section} title=${t("compare.fields")}><${Differences} left=${left} right=${right} title=${title} /><//>`;
}

/** @param {{ left: Server, right: Server, title: (id: string) => string }} props */
function Differences({ left, right, title }) {
  const { t } = useApp();
  const names = left.fields.filter((field) => valueIn(left, field.name) !== valueIn(right, field.name));
  if (!names.length) return html`<${Empty}>${t("compare.same")}<//>`;
  return html`<table><thead><tr><th scope="col">${t("field")}</th><th scope="col">${title(left.branch)}</th>
    <th scope="col">${title(right.branch)}</th></tr></thead>
    <tbody>${names.map(
      ({ name }) =>
        html`<tr><th scope="row">${name}</th><td>${valueIn(left, name)}</td><td>${valueIn(right, name)}</td></tr>`,
    )}</tbody></table>`;
}

/** @param {Server} server @param {string} name */
function valueIn({ fields }, name) {
  const field = fields.find((one) => one.name === name);
  return inline(field?.known ? field.value : null);
}

/** How many turns both begin with. @param {Server} left @param {Server} right */
function sharedTurns(left, right) {
  const differs = left.turns.findIndex(
    (turn, at) => JSON.stringify(said(turn)) !== JSON.stringify(said(right.turns[at])),
  );
  return differs < 0 ? left.turns.length : differs;
}

/** @param {Turn | undefined} turn */
const said = (turn) => turn && [turn.input, turn.messages.map(({ text }) => text)];
