/** A flow as a picture with the steps that the conversation went through lit, and beside it the same in words. */

import { useEffect } from "preact/hooks";
import { flowName, turnOf } from "../state.js";
import { Picture } from "../picture.js";
import { Problem, Section, Tag, html, useApp } from "../ui.js";
import { Stepper } from "./turn.js";

export function Graph() {
  const { state, act, t } = useApp();
  const flows = state.server?.agent.flows ?? [];
  const flow = state.flow || liveFlow(state) || flows[0]?.id;
  const drawing = state.drawings[flow];
  useEffect(() => void (flow && !drawing && act.draw(flow)), [flow, drawing]);
  const lit = litSteps(state, flow);
  return html`${state.server?.turns.length ? html`<${Stepper} />` : null}
    <label class="flow-choice">${t("flow")}
      <select value=${flow} onChange=${(/** @type {any} */ e) => act.set("flow", { flow: e.target.value })}>
        ${flows.map(({ id }) => html`<option value=${id}>${flowName(state.server, id)}</option>`)}
      </select></label>
    <${Problem} at="graph" />
    ${drawing &&
    html`<p class="soft">${t("graph.key")}</p>
      <div class="beside">
        <${Picture} svg=${drawing.svg} lit=${lit} label=${t("graph.label", { flow: flowName(state.server, flow) })} />
        <${Section} title=${t("graph.words")}><${Words} lines=${drawing.words ?? []} lit=${lit} /><//>
      </div>`}`;
}

/** @typedef {Record<string, "visited" | "now" | "here">} Lit */

/** The steps in words, each with what the conversation has to do with it. @param {{ lines: string[], lit?: Lit }} props */
export function Words({ lines, lit = {} }) {
  const { t } = useApp();
  return html`<ol class="words">${lines.map((line) => {
    const light = lit[line.split(/[:.] /)[0]];
    return html`<li class=${light ?? ""}>${light && html`<${Tag} kind=${light}>${t(`graph.${light}`)}<//> `}${line}</li>`;
  })}</ol>`;
}

/** The flow that a reader most likely means: of the turn that is looked at, else the one that has the floor. */
/** @param {import("../types").State} state */
function liveFlow(state) {
  const runs = state.server?.runs ?? [];
  return turnOf(state)?.steps.at(-1)?.flow ?? (runs.find(({ floor }) => floor) ?? runs[0])?.flow;
}

/** Which steps of a flow are lit at the turn that is looked at. @param {import("../types").State} state @param {string} flow */
function litSteps(state, flow) {
  /** @type {Lit} */
  const lit = {};
  const turn = turnOf(state);
  for (const { n, steps } of state.server?.turns ?? [])
    for (const step of steps) if (step.flow === flow && n <= (turn?.n ?? 0)) lit[step.step] = n === turn?.n ? "now" : "visited";
  if (state.turn === null) for (const run of state.server?.runs ?? []) if (run.flow === flow && run.step) lit[run.step] = "here";
  return lit;
}
