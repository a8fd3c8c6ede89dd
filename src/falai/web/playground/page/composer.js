/** Where one writes: as the customer or as a person of the team; and the other things that can happen to a conversation. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, Problem, html, useApp } from "./ui.js";

export function Composer() {
  const { state, act, t } = useApp();
  const [text, setText] = useState("");
  const [role, setRole] = useState("customer");
  const [by, setBy] = useState("");
  const box = useDraft(state.draft, setText);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.trim() || state.busy) return;
    setText("");
    role === "person" ? act.person(text, by) : act.send(text);
  };
  const person = role === "person";
  return html`<form class=${`composer ${role}`} onSubmit=${send}>
    <${Gate} />
    <${Problem} at="chat" />
    <div class="writing"><textarea id="composer" ref=${box} rows="1" value=${text} aria-label=${t(`composer.${role}`)}
      placeholder=${t(`composer.${role}`)} onInput=${(/** @type {any} */ e) => setText(e.target.value)}
      onKeyDown=${sendOnEnter}></textarea>
      <button class="primary" disabled=${!text.trim() || !!state.busy}>${t("composer.send")}<${Icon} name="send" /></button></div>
    <div class="row">
      <select aria-label=${t("composer.as")} value=${role} onChange=${(/** @type {any} */ e) => setRole(e.target.value)}>
        <option value="customer">${t("role.customer")}</option>
        <option value="person">${t("role.person")}</option>
      </select>
      ${person && html`<input class="by" aria-label=${t("composer.by")} placeholder=${t("composer.by")} value=${by}
        onInput=${(/** @type {any} */ e) => setBy(e.target.value)} />`}
      <${Happenings} />
    </div>
  </form>`;
}

/** A draft from elsewhere is put into the box, chosen whole, to be changed or written over. */
/** @param {{ text: string }} draft @param {(text: string) => void} setText */
function useDraft(draft, setText) {
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    if (first.current) return void (first.current = false);
    setText(draft.text);
    requestAnimationFrame(() => (box.current?.focus(), box.current?.select()));
  }, [draft]);
  return box;
}

/** Enter sends, Shift+Enter begins a line; Enter that ends an input method's word does neither. @param {KeyboardEvent} event */
function sendOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
}

/** What can happen beside a message. */
function Happenings() {
  const { state, act, t } = useApp();
  const open = (/** @type {string} */ dialog) => () => act.set("dialog", { dialog });
  return html`<div class="happenings">
    <button type="button" class="plain" onClick=${open("event")}><${Icon} name="bolt" />${t("event.open")}</button>
    <button type="button" class="plain" onClick=${open("start")}><${Icon} name="flow" />${t("start.open")}</button>
    ${!state.server?.gate.closed &&
    html`<button type="button" class="plain" onClick=${open("gate")}><${Icon} name="gate" />${t("gate.close")}</button>`}
  </div>`;
}

/** Says that the assistant has to be silent, and why. */
function Gate() {
  const { state, act, t } = useApp();
  const gate = state.server?.gate;
  if (!gate?.closed) return null;
  return html`<div class="gate">
    <${Icon} name="gate" /><span>${t("gate.shut")}${gate.reason && html` <q>${gate.reason}</q>`}</span>
    <button type="button" disabled=${!!state.busy} onClick=${() => act.gate(false)}>${t("gate.open")}</button>
  </div>`;
}
