/**
 * Flows as pictures, in words, and as text.
 *
 * A drawing comes from the server as text. It is read as XML, and only the elements and attributes that a
 * drawing needs get into the page: no scripts, no links, no styles of its own (graph.css has them), nothing that
 * asks for something elsewhere.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { flowName, none, turnOf } from "../state.js";
import { Empty, Problem, Section, Select, Tag, html, into, useApp } from "../ui.js";
import { Stepper } from "./turn.js";
/** @import { Finding, State } from "../types" */

export function Graph() {
  const { state, act, t } = useApp();
  const flows = state.server?.agent.flows ?? [];
  const flow = state.flow || liveFlow(state) || flows[0]?.id;
  const drawing = state.drawings[flow];
  useEffect(() => void (flow && !drawing && act.draw(flow)), [flow, drawing]);
  const lit = litSteps(state, flow);
  return html`${state.server?.turns.length ? html`<${Stepper} />` : null}
    <label class="flow-choice">${t("flow")}
      <${Select} value=${flow} set=${(/** @type {string} */ flow) => act.set("flow", { flow })}
        options=${flows.map(({ id }) => [id, flowName(state.server, id)])} /></label>
    <${Problem} at="graph" />
    ${
      drawing &&
      html`<p class="soft">${t("graph.key")}</p>
      <div class="beside">
        <${Picture} svg=${drawing.svg} lit=${lit} label=${t("graph.label", { flow: flowName(state.server, flow) })} />
        <${Section} title=${t("graph.words")}><${Words} lines=${drawing.words ?? []} lit=${lit} /><//>
      </div>`
    }`;
}

/** @typedef {Record<string, "visited" | "now" | "here">} Lit */

/** The steps in words, each with what the conversation has to do with it. @param {{ lines: string[], lit?: Lit }} props */
export function Words({ lines, lit = none() }) {
  const { t } = useApp();
  return html`<ol class="words">${lines.map((line) => {
    const light = lit[line.split(/[:.] /)[0]];
    return html`<li class=${light ?? ""}>${light && html`<${Tag} kind=${light}>${t(`graph.${light}`)}<//> `}${line}</li>`;
  })}</ol>`;
}

/** The flow that a reader most likely means: of the turn that is looked at, else the one that has the floor. */
/** @param {State} state */
function liveFlow(state) {
  const runs = state.server?.runs ?? [];
  return turnOf(state)?.steps.at(-1)?.flow ?? (runs.find(({ floor }) => floor) ?? runs[0])?.flow;
}

/** Which steps of a flow are lit at the turn that is looked at. @param {State} state @param {string} flow */
function litSteps(state, flow) {
  /** @type {Lit} */
  const lit = none();
  const turn = turnOf(state);
  for (const { n, steps } of state.server?.turns ?? [])
    for (const step of steps)
      if (step.flow === flow && n <= (turn?.n ?? 0)) lit[step.step] = n === turn?.n ? "now" : "visited";
  if (state.turn === null)
    for (const run of state.server?.runs ?? []) if (run.flow === flow && run.step) lit[run.step] = "here";
  return lit;
}

// --- drawings ---------------------------------------------------------------------------------

const ELEMENTS = new Set(["svg", "g", "path", "rect", "text", "title"]);
const ATTRIBUTES = new Set(
  "class d height rx transform viewBox width x y data-flow data-kind data-source data-step data-target".split(" "),
);

/** @param {{ svg: string, label: string, lit?: Record<string, string> }} props */
export function Picture({ svg, label, lit = none() }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => frame.current?.replaceChildren(...drawn(svg, label)), [svg, label]);
  useEffect(() => light(frame.current, lit), [svg, label, JSON.stringify(lit)]);
  return html`<div class="picture" tabindex="0" role="region" aria-label=${label} ref=${frame}></div>`;
}

/** @param {string} text @param {string} label */
function drawn(text, label) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.localName !== "svg") return [];
  clean(root);
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", label);
  return [document.importNode(root, true)];
}

/** @param {Element} element */
function clean(element) {
  for (const { name } of [...element.attributes]) if (!ATTRIBUTES.has(name)) element.removeAttribute(name);
  for (const child of [...element.children]) isKnown(child) ? clean(child) : child.remove();
}

/** @param {Element} element */
const isKnown = ({ localName, namespaceURI }) =>
  ELEMENTS.has(localName) && namespaceURI === "http://www.w3.org/2000/svg";

/** @param {HTMLElement | null} frame @param {Record<string, string>} lit */
function light(frame, lit) {
  frame?.querySelectorAll("[data-step]").forEach((node) => {
    node.classList.remove("visited", "now", "here");
    const how = lit[node.getAttribute("data-step") ?? ""];
    if (how) node.classList.add(how);
  });
}

// --- the flows as text beside their pictures; what is wrong is said as one types -----------------

const PAUSE_MS = 400;

export function Editor() {
  const { state, act, t } = useApp();
  const { spec, server } = state;
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [caret, setCaret] = useState(0);
  const open = !!server?.agent.editable;
  useEffect(() => void (open && !spec && act.loadSpec()), [open]);
  useEffect(() => {
    if (!spec || spec.checked === spec.text) return;
    const timer = setTimeout(() => act.check(spec.text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [spec?.text]);
  if (!open) return html`<${Empty}>${t("editor.closed")}<//>`;
  if (!spec) return html`<${Problem} at="editor" />`;
  return html`<p class="soft">${t("editor.help")}</p>
    <div class="beside editing">
      <div><${Text} spec=${spec} box=${box} moved=${setCaret} />
        <${Bar} spec=${spec} /><${Problem} at="editor" />
        <${Findings} spec=${spec} box=${box} moved=${setCaret} /></div>
      <${Drawn} spec=${spec} caret=${caret} />
    </div>`;
}

/** @typedef {NonNullable<State["spec"]>} Spec */
/** @typedef {{ current: HTMLTextAreaElement | null }} Box */

/** The text with its line numbers; lines with a finding are marked. @param {{ spec: Spec, box: Box, moved: (caret: number) => void }} props */
function Text({ spec, box, moved }) {
  const { act, t } = useApp();
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const wrong = new Map(spec.findings.map(({ line, severity }) => [line, severity ?? "error"]));
  const follow = (/** @type {any} */ event) => gutter.current && (gutter.current.scrollTop = event.target.scrollTop);
  const at = (/** @type {any} */ event) => moved(event.target.selectionStart);
  return html`<div class="code-box">
    <div class="gutter" aria-hidden="true" ref=${gutter}>
      ${spec.text.split("\n").map((_, at) => html`<span class=${wrong.get(at + 1) ?? ""}>${at + 1}</span>`)}
    </div>
    <textarea class="code" spellcheck=${false} wrap="off" autocapitalize="off" autocomplete="off" ref=${box}
      aria-label=${t("editor.label")}
      aria-describedby="findings" value=${spec.text} onScroll=${follow}
      onInput=${into((text) => act.set("typed", { text }))} onKeyUp=${at} onClick=${at}></textarea>
  </div>`;
}

/** Whether the text may be applied, and why not. @param {{ spec: Spec }} props */
function Bar({ spec }) {
  const { state, act, t } = useApp();
  const changed = spec.text !== spec.applied;
  const wrong = spec.findings.some(isError);
  const ready = changed && !wrong && spec.checked === spec.text && !state.busy;
  return html`<div class="row spread">
    <span class="soft">${t(!changed ? "editor.same" : wrong ? "editor.wrong" : "editor.changed")}</span>
    <span class="row">
      <button type="button" class="plain" disabled=${!changed}
        onClick=${() => act.set("typed", { text: spec.applied })}>${t("editor.undo")}</button>
      <button type="button" class="primary" disabled=${!ready} onClick=${() => act.apply()}>${t("editor.apply")}</button>
    </span>
  </div>`;
}

/** @param {Finding} finding */
const isError = ({ severity }) => severity !== "warning";

/** @param {{ spec: Spec, box: Box, moved: (caret: number) => void }} props */
function Findings({ spec, box, moved }) {
  const { t } = useApp();
  const checking = spec.checked !== spec.text;
  const count = spec.findings.length;
  const told = checking ? t("editor.checking") : count ? t("editor.findings", { count }) : t("editor.fine");
  const look = (/** @type {Finding} */ finding) => moved(jump(box.current, finding));
  return html`<div id="findings" class="findings"><div role="status"><h3>${told}</h3></div>
    <ul>${spec.findings.map(
      (finding) => html`<li class=${isError(finding) ? "error" : "warning"}>
      <button type="button" class="link" disabled=${!finding.line} onClick=${() => look(finding)}>
        ${finding.line ? t("editor.line", { line: finding.line, column: finding.column ?? 1 }) : t("editor.whole")}</button>
      <${Tag} kind=${isError(finding) ? "failed" : "waiting"}>${finding.code}<//>
      <p lang="en">${finding.message}. <span class="soft">${finding.hint}</span></p>
    </li>`,
    )}</ul></div>`;
}

/** To the line of a finding, which is chosen; the result is where that is. @param {HTMLTextAreaElement | null} box @param {Finding} finding */
function jump(box, { line, column }) {
  if (!box || !line) return 0;
  const lines = box.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  box.focus();
  box.setSelectionRange(start + Math.max(0, (column ?? 1) - 1), start + lines[line - 1].length);
  box.scrollTop = Math.max(0, (box.scrollHeight / lines.length) * (line - 4));
  return start;
}

/** The flow in which the caret is, drawn; one that cannot be drawn now, as it was. @param {{ spec: Spec, caret: number }} props */
function Drawn({ spec, caret }) {
  const { state, t } = useApp();
  const flow = flowAt(spec.text, caret) ?? spec.graphs[0]?.flow;
  const graph = spec.graphs.find((one) => one.flow === flow);
  const name = flowName(state.server, flow);
  if (!graph) return spec.checked && html`<${Empty}>${t("editor.undrawn", { flow: name })}<//>`;
  return html`<div>
    ${graph.stale && html`<p class="soft">${t("editor.stale")}</p>`}
    <${Picture} svg=${graph.svg} label=${t("graph.label", { flow: name })} />
    <${Section} title=${t("graph.words")}><${Words} lines=${graph.words ?? []} /><//>
  </div>`;
}

/** The id of the flow around a place: ids of flows stand least indented. @param {string} text @param {number} caret */
function flowAt(text, caret) {
  const ids = [...text.matchAll(/^( *)(?:\{ *)?"id": *"([^"]+)"/gm)];
  const least = Math.min(...ids.map(([, indent]) => indent.length));
  return ids.filter(({ 1: indent, index }, at) => indent.length === least && (at === 0 || index <= caret)).at(-1)?.[2];
}
