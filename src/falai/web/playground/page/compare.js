/** Two branches side by side: what they share is said once, then each one's own turns, then where their fields differ. */

import { useEffect } from "preact/hooks";
import { Exchange } from "./chat.js";
import { inline } from "./text/format.js";
import { branchTitle } from "./toolbar.js";
import { Empty, Section, html, useApp } from "./ui.js";

export function Compare() {
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
      <select value=${other?.branch ?? first} onChange=${(/** @type {any} */ e) => act.compare(e.target.value)}>
        ${others.map(({ id }) => html`<option value=${id}>${title(id)}</option>`)}
      </select></label>
    ${server && other && html`<${Sides} left=${server} right=${other} title=${title} />`}`;
}

/** @param {{ left: import("./types").Server, right: import("./types").Server, title: (id: string) => string }} props */
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

/** @param {{ left: import("./types").Server, right: import("./types").Server, title: (id: string) => string }} props */
function Differences({ left, right, title }) {
  const { t } = useApp();
  const names = left.fields.filter((field) => valueIn(left, field.name) !== valueIn(right, field.name));
  if (!names.length) return html`<${Empty}>${t("compare.same")}<//>`;
  return html`<table><thead><tr><th scope="col">${t("field")}</th><th scope="col">${title(left.branch)}</th><th scope="col">${title(right.branch)}</th></tr></thead>
    <tbody>${names.map(
      ({ name }) => html`<tr><th scope="row">${name}</th><td>${valueIn(left, name)}</td><td>${valueIn(right, name)}</td></tr>`,
    )}</tbody></table>`;
}

/** @param {import("./types").Server} server @param {string} name */
function valueIn({ fields }, name) {
  const field = fields.find((one) => one.name === name);
  return inline(field?.known ? field.value : null);
}

/** How many turns both begin with. @param {import("./types").Server} left @param {import("./types").Server} right */
function sharedTurns(left, right) {
  const differs = left.turns.findIndex((turn, at) => JSON.stringify(said(turn)) !== JSON.stringify(said(right.turns[at])));
  return differs < 0 ? left.turns.length : differs;
}

/** @param {import("./types").Turn | undefined} turn */
const said = (turn) => turn && [turn.input, turn.messages.map(({ text }) => text)];
