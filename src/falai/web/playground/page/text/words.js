/** How things are said in the reader's language: the page's words, times, spans of time and values. */

import en from "./en.js";
import pt from "./pt.js";
/** @import { Translate } from "../types" */

/** @type {Record<string, Record<string, string>>} */
const TEXTS = { en, pt };
const STORED = "falai-playground-language";

/** @param {string} lang @returns {Translate} */
export const translator =
  (lang) =>
  (key, values = {}) =>
    (TEXTS[lang][key] ?? String(values.or ?? key)).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

/** What the reader chose before, else what the browser prefers. @returns {"en" | "pt"} */
export const preferredLanguage = () => {
  const wanted = localStorage.getItem(STORED) ?? navigator.language;
  return wanted.startsWith("pt") ? "pt" : "en";
};

/** @param {string} lang */
export const rememberLanguage = (lang) => localStorage.setItem(STORED, lang);

// --- times and values -------------------------------------------------------------------------

const UNITS = /** @type {const} */ ([
  ["year", 31_557_600_000],
  ["month", 2_629_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
]);

/** "Tue 1 Dec 2026, 09:12", in the agent's time zone. @param {string} at @param {string} lang @param {string} [timeZone] */
export const when = (at, lang, timeZone) =>
  format(at, lang, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone,
  });

/** "09:12". @param {string} at @param {string} lang @param {string} [timeZone] */
export const hour = (at, lang, timeZone) => format(at, lang, { hour: "2-digit", minute: "2-digit", timeZone });

/** @param {string} at @param {string} lang @param {Intl.DateTimeFormatOptions} options */
const format = (at, lang, options) =>
  new Intl.DateTimeFormat(locale(lang), {
    hourCycle: "h23",
    ...options,
    timeZone: options.timeZone ?? undefined,
  }).format(new Date(at));

/** "in 4 hours"; a span that passed is "2 days ago". @param {number} ms @param {string} lang */
export function inWords(ms, lang) {
  const [unit, size] = unitOf(ms);
  return new Intl.RelativeTimeFormat(locale(lang), { numeric: "always" }).format(Math.round(ms / size), unit);
}

/** "4 hours", "1.2 seconds". @param {number} ms @param {string} lang */
export function span(ms, lang) {
  const [unit, size] = unitOf(ms);
  const digits = { maximumFractionDigits: unit === "second" ? 1 : 0 };
  return new Intl.NumberFormat(locale(lang), { style: "unit", unit, unitDisplay: "long", ...digits }).format(ms / size);
}

/** "250 ms", "1.2 s". @param {number} ms @param {string} lang */
export const took = (ms, lang) => (ms < 1000 ? `${Math.round(ms)} ms` : `${number(Math.round(ms / 100) / 10, lang)} s`);

/** @param {number} value @param {string} lang */
export const number = (value, lang) => new Intl.NumberFormat(locale(lang)).format(value);

/** A value in one line; a text stands without quotation marks. @param {unknown} value */
export const inline = (value) => (value == null ? "—" : typeof value === "string" ? value : JSON.stringify(value));

/** A value over as many lines as it takes. @param {unknown} value */
export const block = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The greatest unit that fits, half of it counting as whole. @param {number} ms */
const unitOf = (ms) => UNITS.find(([, size]) => Math.abs(ms) >= size) ?? UNITS[5];

/** @param {string} lang */
const locale = (lang) => (lang === "pt" ? "pt-BR" : "en-GB");
