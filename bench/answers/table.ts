import { mean } from "../measure.ts";
import type { Table } from "../report.ts";
import type { Outcome } from "./ask.ts";
import { auroc, calibrationError, isBeyondNoise, refusedAt } from "./metrics.ts";

type Outcomes = readonly Outcome[];
type Figure = (all: Outcomes) => number | undefined;

/** The cell of a figure that a row does not have. */
const NONE = "–";

/** The table's columns of figures. Right, wrong and refused are shares of what can be answered. */
const FIGURES: Readonly<Record<string, Figure>> = {
  "nDCG@5 or right first": (all) => meanOf(all.flatMap(({ retrieval }) => retrieval ?? [])),
  right: (all) => shareOf(answerable(all), "right"),
  wrong: (all) => shareOf(answerable(all), "wrong"),
  refused: (all) => shareOf(answerable(all), "refused"),
  "unanswerable answered": (all) => shareOf(unanswerable(all), "wrong"),
  "calibration error": ofBoth((_positives, _negatives, all) =>
    calibrationError(all.map(({ confidence, result }) => ({ confidence, isRight: result === "right" }))),
  ),
  AUROC: ofBoth((positives, negatives) => auroc(positives, negatives)),
  "refused at 90 %": ofBoth((positives, negatives) => refusedAt(0.9, positives, negatives)),
};

const NOTES = [
  "Questions: answerable + unanswerable. Right, wrong, refused: of the answerable, at the agent's default threshold; nDCG@5 of a search where all relevant passages are known, else whether its first result is right. A right reply to small talk is of its kind, to a request for a human a hand-off for that reason. Calibration error: of all questions, a refusal being no right answer. AUROC: of the confidence (of curated answers the best score), answerable against unanswerable. Refused at 90 %: of the unanswerable, where 90 % of the answerable are answered.",
  "The fitted weights have seen the English trades and the two collections of passages; figures of questions left out of the fit are in src/extractive/semantic-fit.ts, written by `npm run fit:answers`.",
];

/** Returns a table of the outcomes of a run; with an earlier run beside it, also how far each figure moved. */
export function tableOf(now: Outcomes, before?: Outcomes): Table {
  const earlier = before && new Map(before.map((outcome) => [keyOf(outcome), outcome]));
  return rowsOf(now).map(({ name, kind, outcomes }) => {
    const counts = [answerable(outcomes), unanswerable(outcomes)].map(({ length }) => length).filter((length) => length > 0);
    const figures = Object.entries(FIGURES).map(([column, figure]) => [column, cell(outcomes, figure, earlier)]);
    return { set: name, kind, language: outcomes[0]!.language, questions: counts.join(" + "), ...Object.fromEntries(figures) };
  });
}

/** Returns the sentences that explain the table. */
export function notesOf(before?: Outcomes): string[] {
  const moved = "In brackets: what changed, over the questions of both runs; in bold: beyond noise (95 % of 1,000 paired resamples).";
  return before ? [...NOTES, moved] : NOTES;
}

/** Returns a row for each group, and where it has several sets or kinds, one for each of them. */
function rowsOf(all: Outcomes): { name: string; kind: string; outcomes: Outcomes }[] {
  const groups = Map.groupBy(all, ({ group, language }) => `${group}, ${language}`);
  return [...groups.values()].flatMap((outcomes) => {
    const name = outcomes[0]!.group;
    // The knowledge does not answer small talk and requests for a human.
    const questions = outcomes.filter(({ kind }) => kind !== "talk" && kind !== "human");
    const sets = Map.groupBy(questions, ({ set }) => set);
    const kinds = Map.groupBy(
      outcomes.filter(({ kind }) => kind !== "miss"),
      ({ kind }) => kind,
    );
    return [
      { name, kind: "all", outcomes: questions },
      ...(sets.size > 1 ? [...sets].map(([set, of]) => ({ name: set, kind: "all", outcomes: of })) : []),
      ...(kinds.size > 1 ? [...kinds].map(([kind, of]) => ({ name, kind, outcomes: of })) : []),
    ];
  });
}

function cell(outcomes: Outcomes, figure: Figure, earlier: ReadonlyMap<string, Outcome> | undefined): string {
  const value = figure(outcomes);
  if (value === undefined) return NONE;
  const pairs = outcomes.flatMap((now) => {
    const before = earlier?.get(keyOf(now));
    return before ? [[before, now] as const] : [];
  });
  const [before, now] = [figure(pairs.map(([of]) => of)), figure(pairs.map(([, of]) => of))];
  if (before === undefined || now === undefined) return value.toFixed(3);
  const change = now - before;
  if (change === 0) return value.toFixed(3);
  const text = `${value.toFixed(3)} (${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(3)})`;
  return isBeyondNoise(pairs, figure) ? `**${text}**` : text;
}

function keyOf({ set, language, id }: Outcome): string {
  return `${set} | ${language} | ${id}`;
}

function answerable(all: Outcomes): Outcomes {
  return all.filter(({ kind }) => kind !== "miss");
}

function unanswerable(all: Outcomes): Outcomes {
  return all.filter(({ kind }) => kind === "miss");
}

function shareOf(all: Outcomes, result: Outcome["result"]): number | undefined {
  return meanOf(all.map((outcome) => Number(outcome.result === result)));
}

function meanOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : mean(values);
}

/** Returns a figure of outcomes with answerable and unanswerable questions; undefined of others. */
function ofBoth(figure: (positives: number[], negatives: number[], all: Outcomes) => number): Figure {
  return (all) => {
    const [positives, negatives] = [answerable(all), unanswerable(all)].map((some) => some.map(({ certainty }) => certainty));
    return positives!.length === 0 || negatives!.length === 0 ? undefined : figure(positives!, negatives!, all);
  };
}
