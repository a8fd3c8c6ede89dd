/**
 * Everything that the page remembers, and the one function that changes it.
 *
 * `server` is the last thing that the server told of the branch at hand and is replaced as a whole; all the
 * rest is the page's own: what is open, what is under way, what went wrong and where.
 */

/** @import { Branch, Drawing, Server, State, Store, Translate } from "./types" */

/** An object for names that others choose, in which "constructor" is none before it is put there. @returns {any} */
export const none = () => ({ __proto__: null });

/** @param {"en" | "pt"} lang @returns {State} */
export const initial = (lang) => ({
  lang,
  server: null,
  busy: false,
  lost: false,
  shut: false,
  said: "",
  problem: null,
  pending: null,
  draft: { text: "" },
  retry: null,
  turn: null,
  tab: "fields",
  side: "chat",
  dialog: "",
  flow: "",
  drawings: none(),
  other: null,
  spec: null,
});

/** @type {Record<string, (state: State, event: any) => Partial<State>>} */
const CHANGES = {
  told: ({ server: before, pending, turn }, { server }) => {
    const same = server.branch === before?.branch;
    return {
      server,
      lost: false,
      shut: false,
      // A reply under way, which another page asked for, or this one before it was loaded anew.
      pending: server.playing ? { text: server.playing, words: (same && pending?.words) || "" } : null,
      turn: same ? turn : null,
    };
  },
  begun: () => ({ busy: true }),
  looked: () => ({ problem: null }),
  ended: () => ({ busy: false, pending: null }),
  failed: (_, { place, document }) => ({ problem: { place, document }, lost: false }),
  lost: () => ({ lost: true }),
  shut: () => ({ shut: true }),
  // A change of the text is what a screen reader reads: what is said twice has to differ.
  said: ({ said }, { text }) => ({ said: text === said ? `${text}\u00a0` : text }),
  sent: (_, { text, id }) => ({ pending: { text, words: "" }, retry: { text, id }, turn: null }),
  word: ({ pending }, { text }) => ({ pending: pending && { ...pending, words: pending.words + text } }),
  withdrawn: ({ pending }) => ({ pending: pending && { ...pending, words: "" } }),
  settled: () => ({ retry: null }),
  draft: (_, { text }) => ({ draft: { text } }),
  turn: ({ server }, { n }) => ({ turn: n === server?.turns.at(-1)?.n ? null : n }),
  tab: (_, { tab }) => ({ tab, side: "house" }),
  side: (_, { side }) => ({ side }),
  dialog: (_, { dialog }) => ({ dialog, problem: null, other: null }),
  other: (_, { server }) => ({ other: server }),
  flow: (_, { flow }) => ({ flow, tab: "graph", side: "house" }),
  drawn: ({ drawings }, { flow, drawing }) => ({ drawings: Object.assign(none(), drawings, { [flow]: drawing }) }),
  spec: (_, { text }) => ({ spec: { text, applied: text, findings: [], graphs: [], checked: "" } }),
  typed: ({ spec }, { text }) => ({ spec: spec && { ...spec, text } }),
  checked: ({ spec }, { text, findings, graphs }) => ({
    spec: spec && { ...spec, findings, graphs: [...graphs, ...stale(spec.graphs, graphs)], checked: text },
  }),
  applied: ({ spec }, { text }) => ({ spec: spec && { ...spec, applied: text }, drawings: none() }),
  lang: (_, { lang }) => ({ lang }),
};

/** What was drawn before and cannot be drawn now: better than nothing to look at. */
/** @param {Drawing[]} before @param {Drawing[]} now */
const stale = (before, now) =>
  before.filter(({ flow }) => !now.some((one) => one.flow === flow)).map((one) => ({ ...one, stale: true }));

/** The state after an event. @type {(state: State, event: any) => State} */
export const reduce = (state, event) => ({ ...state, ...CHANGES[event.kind](state, event) });

/** Holds the state and tells who listens, at once and from then on. @param {State} state @returns {Store} */
export function createStore(state) {
  /** @type {Set<(state: State) => void>} */
  const listeners = new Set();
  return {
    get: () => state,
    dispatch: (event) => {
      state = reduce(state, event);
      listeners.forEach((listener) => listener(state));
    },
    subscribe: (listener) => {
      listeners.add(listener);
      // Before the first picture, behind which the page begins to listen, the server may have answered.
      listener(state);
      return () => listeners.delete(listener);
    },
  };
}

/** The turn that is looked at: the chosen one, else the last. @param {State} state */
export const turnOf = ({ server, turn }) => server?.turns.find(({ n }) => n === turn) ?? server?.turns.at(-1) ?? null;

/** What a flow is called. @param {Server | null} server @param {string | null | undefined} id */
export const flowName = (server, id) => server?.agent.flows.find((flow) => flow.id === id)?.name || id || "";

/** What a branch is called; `at` is its place among them. @param {Branch} branch @param {number} at @param {Translate} t */
export const branchTitle = ({ from, turn }, at, t) =>
  from ? t("branch.from", { number: at + 1, turn }) : t("branch.title", { number: at + 1 });
