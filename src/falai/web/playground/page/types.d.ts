/** What the server tells and what the page remembers. For editors and type checkers; the page never loads it. */

export interface Message {
  id: string; text: string; kind: "say" | "ai" | "person" | "question"; afterMs?: number;
  flow?: string | null; step?: string | null; media?: unknown; by?: string | null;
}
export interface Input {
  kind: "message" | "event" | "start" | "wake" | "person" | "gate" | "clock";
  text?: string | null; name?: string | null; payload?: unknown; input?: unknown; flow?: string | null; step?: string | null;
  by?: string | null; closed?: boolean; reason?: string | null; ms?: number; to?: string;
}
export interface Outcome {
  flow?: string | null; step?: string | null; kind: string; status: string; code?: string | null; words?: string | null;
  detail?: string | null; until?: string | null; next?: string | null;
}
export interface Change { field: string; old?: unknown; new?: unknown; source?: string | null }
export interface Call {
  name: string; model?: string | null; prompt: unknown; reply: unknown; promptTokens?: number | null;
  completionTokens?: number | null; cachedTokens?: number | null; ms?: number | null; cost?: number | null; error?: string | null;
}
export interface Turn {
  n: number; at: string; input: Input; silenced?: string | null; messages: Message[]; outcomes: Outcome[]; changes: Change[];
  started: { flow: string }[]; ended: { flow: string; why?: string | null }[];
  skipped: { flow: string; words?: string | null; code?: string | null }[];
  calls: Call[]; steps: { flow: string; step: string }[]; problem?: { message: string } | null;
}
export interface Field {
  name: string; description?: string | null; type?: string | null; known: boolean; value?: unknown;
  pending?: boolean; asked?: number; source?: { turn: number; how?: string | null } | null;
}
export interface Run { id: string; flow: string; name?: string; step?: string | null; status: string; words?: string; floor: boolean }
export interface Wait { key: string; at?: string | null; flow: string; step?: string | null; event?: string | null; words?: string }
export interface Branch { id: string; title: string; from?: string | null; turn?: number | null; turns: number }
export interface ModelChoice { id: string; label: string; available: boolean; why?: string | null }

/** What the server tells of one branch. */
export interface Server {
  agent: {
    name: string; language?: string; timezone?: string; model: string; models: ModelChoice[]; queued?: number;
    flows: { id: string; name?: string }[]; events: string[]; editable: boolean;
  };
  clock: { now: string; aheadMs: number; nextWake?: { at: string; flow: string; step?: string | null; words?: string } | null };
  branches: Branch[]; branch: string; playing: string | null; gate: { closed: boolean; reason?: string | null };
  turns: Turn[]; fields: Field[]; runs: Run[]; waits: Wait[]; session: unknown | null;
}
export interface Finding {
  path: string; code: string; message: string; hint?: string | null; line?: number | null; column?: number | null; severity?: string;
}
export interface Drawing { flow: string; svg: string; words?: string[]; stale?: boolean }
export interface ProblemDocument {
  title?: string; status?: number; detail?: string; code?: string;
  errors?: { path?: string; code?: string; message?: string; hint?: string | null; line?: number; column?: number }[];
}

/** Everything that the page remembers: one value, changed in state.js only. */
export interface State {
  lang: "en" | "pt"; server: Server | null; busy: boolean; lost: boolean; shut: boolean; said: string;
  problem: { place: string; document: ProblemDocument } | null;
  pending: { text: string; words: string } | null; draft: { text: string }; retry: { text: string; id: string } | null;
  turn: number | null; tab: string; side: "chat" | "house"; dialog: string; flow: string;
  drawings: Record<string, Drawing>; other: Server | null;
  spec: { text: string; applied: string; findings: Finding[]; graphs: Drawing[]; checked: string } | null;
}
export type Dispatch = (event: { kind: string; [key: string]: any }) => void;
export interface Store { get(): State; dispatch: Dispatch; subscribe(listener: (state: State) => void): () => void }
export type Translate = (key: string, values?: Record<string, unknown>) => string;
