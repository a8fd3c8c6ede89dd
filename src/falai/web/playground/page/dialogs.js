/** The dialogs: one at a time, named by `state.dialog`. Escape and a click beside it close it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Compare } from "./compare.js";
import { ModelForm } from "./model.js";
import { Icon, Problem, html, useApp } from "./ui.js";

/** @type {Record<string, () => any>} */
const DIALOGS = { event: EventForm, start: StartForm, gate: GateForm, clock: ClockForm, model: ModelForm, compare: Compare };

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
    return () => (opener.isConnected ? opener : document.getElementById("composer"))?.focus();
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
    <div class="row end"><button class="primary" disabled=${disabled || !!state.busy}>${label}</button></div>
  </form>`;
}

/** A labelled box for JSON; empty is nothing. @param {{ label: string, value: string, set: (text: string) => void }} props */
function JsonBox({ label, value, set }) {
  const { t } = useApp();
  const wrong = parsed(value).error;
  return html`<label>${label}
    <textarea class="code" rows="4" spellcheck=${false} value=${value} aria-invalid=${!!wrong} aria-describedby="json-help"
      placeholder='{"key": "value"}' onInput=${(/** @type {any} */ e) => set(e.target.value)}></textarea>
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
    <label>${t("event.name")}
      <input list="events" required value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)} /></label>
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
      <select value=${flow} onChange=${(/** @type {any} */ e) => setFlow(e.target.value)}>
        ${flows.map(({ id, name }) => html`<option value=${id}>${name || id}</option>`)}
      </select></label>
    <${JsonBox} label=${t("start.input")} value=${text} set=${setText} />
  <//>`;
}

function GateForm() {
  const { act, t } = useApp();
  const [reason, setReason] = useState("");
  return html`<${Form} send=${() => act.gate(true, reason)} label=${t("gate.close")}>
    <p>${t("gate.help")}</p>
    <label>${t("gate.reason")}
      <input value=${reason} onInput=${(/** @type {any} */ e) => setReason(e.target.value)} /></label>
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
        <input type="number" min="1" step="any" value=${amount} onInput=${(/** @type {any} */ e) => setAmount(e.target.value)} /></label>
      <label>${t("clock.unit")}
        <select value=${unit} onChange=${(/** @type {any} */ e) => setUnit(e.target.value)}>
          ${Object.keys(UNITS).map((one) => html`<option value=${one}>${t(`clock.${one}`)}</option>`)}
        </select></label>
    </div>
    <${Problem} at="clock" />
  <//>`;
}
