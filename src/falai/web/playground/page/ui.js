/** What all parts of the page share: templates, the way to the state, and the smallest pieces. */

import htm from "htm";
import { createContext, h } from "preact";
import { useContext } from "preact/hooks";
/** @import { ProblemDocument, State, Translate } from "./types" */

export const html = htm.bind(h);

/** @typedef {{ state: State, act: import("./actions").Actions, t: Translate }} App */

export const AppContext = createContext(/** @type {App} */ (/** @type {unknown} */ (null)));

/** The state, the actions and the words. */
export const useApp = () => useContext(AppContext);

/** What went wrong at a place, beside what caused it. @param {{ at: string }} props */
export function Problem({ at }) {
  const { problem } = useApp().state;
  return problem?.place === at ? html`<div class="problem"><${ProblemText} problem=${problem.document} /></div>` : null;
}

/** @param {{ problem: ProblemDocument }} props */
function ProblemText({ problem }) {
  const { title, detail, errors = [], code } = problem;
  return html`
    <p><strong>${title}</strong> ${code && html`<code>${code}</code>`}</p>
    ${detail && detail !== title && html`<p>${detail}</p>`}
    ${errors.length > 0 && html`<ul>${errors.map((error) => html`<li>${errorLine(error)}</li>`)}</ul>`}`;
}

/** @param {{ path?: string, message?: string, hint?: string | null }} error */
const errorLine = ({ path, message, hint }) => html`${path && html`<code>${path}</code> `}${message} ${hint}`;

/** The focus goes back to what had it; where that is gone, to where one writes. @param {HTMLElement} element */
export const focusBack = (element) =>
  (element.isConnected ? element : document.getElementById("composer"))?.focus();

/** What stands where there is nothing. @param {{ children: any }} props */
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** A small word that says what something is. @param {{ kind?: string, children: any }} props */
export const Tag = ({ kind = "", children }) => html`<span class=${`tag ${kind}`}>${children}</span>`;

/** A part of a panel under a heading. @param {{ title: string, children: any }} props */
export const Section = ({ title, children }) => html`<section class="section"><h3>${title}</h3>${children}</section>`;

/** An event's handler that gives a box's text to `set`. @param {(text: string) => void} set */
export const into = (set) => (/** @type {any} */ event) => set(event.target.value);

/** One of several. @param {{ value: string, set: (value: string) => void, options: string[][], label?: string }} props */
export const Select = ({
  value,
  set,
  options,
  label,
}) => html`<select aria-label=${label} value=${value} onChange=${into(set)}>
  ${options.map(([id, text]) => html`<option value=${id}>${text}</option>`)}</select>`;

const ICONS = {
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  skip: "M5 5l8 7-8 7zM18 5v14",
  back: "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  plus: "M12 5v14M5 12h14",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  model: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  close: "M6 6l12 12M18 6L6 18",
  compare: "M4 5h6v14H4zM14 5h6v14h-6z",
};

/** A small drawing beside words; it says nothing by itself. @param {{ name: keyof typeof ICONS }} props */
export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
