/** The conversation: what was said and done, turn by turn, what is under way, and where one writes. */

import { useEffect, useRef, useState } from "preact/hooks";
import { hour, inline, span, took } from "./text/words.js";
import { flowName, turnOf } from "./state.js";
import { Icon, Problem, Select, Tag, html, into, useApp } from "./ui.js";
/** @import { Message, Turn } from "./types" */

/** What a turn is played for; the others only change what is around it. */
const PLAYED = new Set(["message", "event", "start", "wake"]);

export function Chat() {
  const { state, t } = useApp();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { server, pending, turn, side } = state;
  useEffect(() => {
    // What is under way comes last; else the turn that is looked at is the newest, or was chosen.
    const looked = [...(list.current?.querySelectorAll(".chosen, .pending") ?? [])].at(-1);
    looked?.scrollIntoView({ block: "nearest" });
  }, [server?.branch, server?.turns.length, pending, turn, side]);
  return html`<div class="chat" tabindex="0" role="region" aria-label=${t("side.chat")}>
    ${!server?.turns.length && !pending && html`<${Welcome} />`}
    <ol class="turns" ref=${list}>
      ${server?.turns.map((one) => html`<${Turn} key=${one.n} turn=${one} />`)}
      ${pending && html`<${Pending} ...${pending} />`}
    </ol>
  </div>`;
}

function Welcome() {
  const { state, t } = useApp();
  return html`<div class="welcome">
    <h2>${t("welcome.title", { name: state.server?.agent.name })}</h2>
    <p>${t("welcome.text")}</p>
  </div>`;
}

/** @param {{ turn: Turn }} props */
function Turn({ turn }) {
  const { state, act, t } = useApp();
  const { server, lang, busy } = state;
  const chosen = turn.n === turnOf(state)?.n;
  const name = t("turn.n", { n: turn.n });
  return html`<li class=${`turn ${chosen ? "chosen" : ""}`}>
    <div class="turn-head">
      <button type="button" class="turn-pick" aria-pressed=${chosen} onClick=${() => act.set("turn", { n: turn.n })}>
        ${name} · ${hour(turn.at, lang, server?.agent.timezone)}</button>
      <button type="button" class="take-back" disabled=${busy} onClick=${() => act.takeBack(turn.n - 1)}>
        <${Icon} name="back" />${t(turn.input.kind === "message" ? "turn.another" : "turn.before.this")}<span class="sr"> (${name})</span></button>
    </div>
    <${Exchange} turn=${turn} />
  </li>`;
}

/** What came in and what was said to it. @param {{ turn: Turn }} props */
export function Exchange({ turn }) {
  const { t } = useApp();
  const { input, messages, outcomes, problem, silenced } = turn;
  const failed = outcomes.find(({ code }) => code?.startsWith("provider"));
  const mute = !messages.length && !problem && PLAYED.has(input.kind);
  return html`
    ${
      input.kind === "message"
        ? html`<div class="bubble mine"><span class="sr">${t("role.customer")}: </span><p>${input.text}</p></div>`
        : input.kind !== "person" && html`<p class="happening"><${InputWords} turn=${turn} /></p>`
    }
    ${messages.map((message) => html`<${Bubble} key=${message.id} message=${message} />`)}
    ${problem && html`<div class="problem"><p><strong>${t("turn.problem")}</strong> ${problem.message}</p></div>`}
    ${mute && html`<p class="happening">${t(silenced != null ? "turn.silenced" : "turn.silent")}
      ${failed && t(`outcome.${failed.code}`, { or: failed.words })}</p>`}`;
}

/** What came in, in a few words. @param {{ turn: Turn }} props */
export function InputWords({ turn: { input, outcomes } }) {
  const { state, t } = useApp();
  const { kind, text, name, payload, flow, ms, closed, reason } = input;
  const key = kind === "gate" ? (closed ? "closed" : "opened") : kind === "clock" && ms == null ? "skip" : kind;
  const values = { name, flow: flowName(state.server, flow ?? outcomes[0]?.flow), span: span(ms ?? 0, state.lang) };
  const quote = closed ? reason : text;
  const data = payload ?? input.input;
  return html`${t(`input.${key}`, values)}${quote && html` <q>${quote}</q>`}${data != null && html` <code>${inline(data)}</code>`}`;
}

/** @param {{ message: Message }} props */
function Bubble({ message }) {
  const { state, t } = useApp();
  const { kind, text, by, afterMs, flow, step, media } = message;
  const person = kind === "person";
  return html`<div class=${`bubble theirs ${person ? "person" : ""}`}>
    <span class="sr">${person ? t("who.person") : (state.server?.agent.name ?? "")}: </span><p>${text}</p>
    ${media != null && html`<code class="media">${inline(media)}</code>`}
    <div class="meta">
      <${Tag} kind=${kind}>${t(`kind.${kind}`)}<//>
      ${by && html`<span>${by}</span>`}
      ${flow && html`<span>${flowName(state.server, flow)}${step && html` › ${step}`}</span>`}
      ${!!afterMs && html`<span class="delay">${t("message.delay", { time: took(afterMs, state.lang) })}</span>`}
    </div>
  </div>`;
}

/** What was sent and has no answer yet; its words are shown as they come and do not count before the turn is over. */
/** @param {{ text: string, words: string }} props */
function Pending({ text, words }) {
  const { t } = useApp();
  return html`<li class="turn pending">
    <div class="bubble mine"><p>${text}</p></div>
    <div class="bubble theirs provisional">
      ${words ? html`<p>${words}</p>` : html`<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>`}
      <div class="meta">${words ? t("message.provisional") : t("message.thinking")}</div>
    </div>
  </li>`;
}

// --- where one writes -------------------------------------------------------------------------

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
      placeholder=${t(`composer.${role}`)} onInput=${into(setText)}
      onKeyDown=${sendOnEnter}></textarea>
      <button class="primary" disabled=${!text.trim() || state.busy}>${t("composer.send")}</button></div>
    <div class="row">
      <${Select} label=${t("composer.as")} value=${role} set=${setRole}
        options=${[
          ["customer", t("role.customer")],
          ["person", t("role.person")],
        ]} />
      ${
        person &&
        html`<input class="by" aria-label=${t("name")} placeholder=${t("name")} value=${by}
        onInput=${into(setBy)} />`
      }
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
    <button type="button" class="plain" onClick=${open("event")}>${t("event.open")}</button>
    <button type="button" class="plain" onClick=${open("start")}>${t("start.open")}</button>
    ${
      !state.server?.gate.closed &&
      html`<button type="button" class="plain" onClick=${open("gate")}>${t("gate.close")}</button>`
    }
  </div>`;
}

/** Says that the assistant has to be silent, and why. */
function Gate() {
  const { state, act, t } = useApp();
  const gate = state.server?.gate;
  if (!gate?.closed) return null;
  return html`<div class="gate">
    <span>${t("gate.shut")}${gate.reason && html` <q>${gate.reason}</q>`}</span>
    <button type="button" disabled=${state.busy} onClick=${() => act.gate(false)}>${t("gate.open")}</button>
  </div>`;
}
