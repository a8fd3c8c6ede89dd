/** What all parts of the page share: templates, the way to the state, and the smallest pieces. */

import htm from "htm";
import { createContext, h } from "preact";
import { useContext } from "preact/hooks";

export const html = htm.bind(h);

/** @typedef {{ state: import("./types").State, act: import("./actions").Actions, t: import("./types").Translate }} App */

export const AppContext = createContext(/** @type {App} */ (/** @type {unknown} */ (null)));

/** The state, the actions and the words. */
export const useApp = () => useContext(AppContext);

/** What went wrong at a place, beside what caused it. @param {{ at: string }} props */
export function Problem({ at }) {
  const { state, act, t } = useApp();
  if (state.problem?.place !== at) return null;
  return html`<div class="problem">
    <${ProblemText} problem=${state.problem.document} />
    <button type="button" class="plain" onClick=${() => act.set("forgiven")}>${t("problem.close")}</button>
  </div>`;
}

/** @param {{ problem: import("./types").ProblemDocument }} props */
export function ProblemText({ problem }) {
  const { title, detail, errors = [], code } = problem;
  return html`<div class="problem-text">
    <p><strong>${title}</strong> ${code && html`<code>${code}</code>`}</p>
    ${detail && detail !== title && html`<p>${detail}</p>`}
    ${errors.length > 0 && html`<ul>${errors.map((error) => html`<li>${errorLine(error)}</li>`)}</ul>`}
  </div>`;
}

/** @param {{ path?: string, message?: string, hint?: string | null }} error */
const errorLine = ({ path, message, hint }) => html`${path && html`<code>${path}</code> `}${message} ${hint}`;

/** What stands where there is nothing. @param {{ children: any }} props */
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** A small word that says what something is. @param {{ kind?: string, children: any }} props */
export const Tag = ({ kind = "", children }) => html`<span class=${`tag ${kind}`}>${children}</span>`;

/** A part of a panel under a heading. @param {{ title: string, children: any }} props */
export const Section = ({ title, children }) => html`<section class="section"><h3>${title}</h3>${children}</section>`;

const ICONS = {
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  skip: "M5 5l8 7-8 7zM18 5v14",
  back: "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  send: "M5 12h14M13 6l6 6-6 6",
  branch: "M6 4v16M6 14c0-5 12-2 12-8M18 6V4",
  plus: "M12 5v14M5 12h14",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  model: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  flow: "M4 5h6v5H4zM14 14h6v5h-6zM7 10v6.5h7",
  gate: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  check: "M5 13l4 4L19 7",
  close: "M6 6l12 12M18 6L6 18",
  compare: "M4 5h6v14H4zM14 5h6v14h-6z",
};

/** A small drawing beside words; it says nothing by itself. @param {{ name: keyof typeof ICONS }} props */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
