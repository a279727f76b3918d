import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { fitLogistic, probability, type Sign } from "./answers/logistic.ts";
import { auroc, calibrationError, refusedAt } from "./answers/metrics.ts";
import { type QuestionSet, readData, readTrades } from "./answers/questions.ts";
import { send } from "./load.ts";
import { forEach, mean } from "./measure.ts";
import { buildBare, useTemporaryFolder, withWorker } from "./service.ts";

/*
 * `npm run fit:answers -- --data FILE --data FILE`: fits the weights of src/extractive/ranking.ts on the trades of
 * bench/trades and on collections of questions, and writes them to src/extractive/semantic-fit.ts with the figures reached. With
 * `--lexical`, it fits those for answers without the similarities of the encoder, in lexical-fit.ts; with `--read`, the confidence of
 * answers that the reader has chosen, in read-fit.ts, on the help centres of bench/centres too. All figures are of questions that the
 * fit has not seen: each trade in turn is left out, and each third of a collection.
 */

type Kind = "semantic" | "lexical" | "read";

/** Help centres with near misses that only a reader can tell from answers. The ranking is not fitted on them. */
const CENTRES = new URL("centres/", import.meta.url);
const CENTRES_SET = basename(CENTRES.pathname);
/** The weight of each of their questions, which are the majority and all of one kind. Other questions have a weight of 1. */
const CENTRES_COUNT = 0.15;
/** An agent's confidence threshold is the first of these, unless another is set. */
const THRESHOLDS = [0.5, 0.55, 0.6];
const COLLECTION_FOLDS = 3;
/** The strengths of the ridges, chosen on the left-out questions. */
const RANKING_RIDGE = 0.01;
const CONFIDENCE_RIDGE = 10;
/** The share of what visitors ask that the knowledge does not answer; the sets of questions have fewer. */
const UNANSWERABLE_SHARE = 0.45;
/** The signs of the features' weights; those of all others are positive. */
const CONFIDENCE_SIGNS: Readonly<Record<string, Sign>> = {
  unknownWord: "negative",
  nearerWithoutMissing: "negative",
  isOneWord: "any",
  isFollowUp: "any",
};
const RANKING_STEPS = 200;

type Features = Record<string, number>;

interface Candidate {
  sourceId: string;
  text: string;
  features: Features;
}

interface Question {
  /** Questions of one fold are left out together. */
  fold: string;
  set: string;
  path: string;
  asked: { question: string; previousQuestions: string[]; isSemantic: boolean; isRead: boolean };
  isAnswerable: boolean;
  isRight(candidate: Candidate): boolean;
}

interface Ranked extends Question {
  candidates: Candidate[];
  right: boolean[];
}

interface Judged extends Ranked {
  best: number;
  features: Features | null;
  confidence: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", multiple: true, default: [] },
      lexical: { type: "boolean", default: false },
      read: { type: "boolean", default: false },
      dry: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
    },
  });
  const fitted: Kind = values.lexical ? "lexical" : values.read ? "read" : "semantic";
  useTemporaryFolder();
  process.env["WRANGLER_LOG"] = "error";
  await withWorker({ ...(await buildBare("signals")), hasEncoder: true }, {}, async ({ port }) => {
    const centres = fitted === "read" ? await readTrades(["en"], CENTRES) : [];
    const sets = [...(await readTrades(["en"])), ...centres, ...(await Promise.all(values.data.map(readData)))];
    const questions = (await Promise.all(sets.map((set) => teach(port, set, fitted)))).flat();
    const ranked = await forEach(questions, async (question): Promise<Ranked> => {
      const candidates = await ask<Candidate[]>(port, question);
      return { ...question, candidates, right: candidates.map((candidate) => question.isRight(candidate)) };
    });
    const { judged, lines, ranking, confidence } = await fit(port, ranked);
    if (values.list) for (const each of judged) console.log(describe(each));
    console.log(lines.join("\n"));
    if (!values.dry) await writeFile(`src/extractive/${fitted}-fit.ts`, source(fitted, ranking, confidence, lines));
  });
}

async function teach(port: number, { name, group, texts, questions }: QuestionSet, fitted: Kind): Promise<Question[]> {
  if (texts.length === 0) throw new Error(`${name} holds no passages.`);
  const path = `/${encodeURIComponent(name)}`;
  const teach = (body: unknown) => send<boolean>(port, { method: "PUT", path, headers: { Connection: "close" }, body });
  let isMissing = await teach(texts.map(({ id, name: title, text }) => ({ id, title, text })));
  while (fitted !== "lexical" && isMissing) isMissing = await teach([]);
  return questions
    .filter(({ kind }) => ["answer", "follow", "miss"].includes(kind))
    .map((each) => ({
      fold: group === name ? `${name}${conversationOf(each.id) % COLLECTION_FOLDS}` : name,
      set: group,
      path,
      asked: {
        question: each.messages.at(-1)!,
        previousQuestions: each.messages.slice(0, -1),
        isSemantic: fitted !== "lexical",
        isRead: fitted === "read",
      },
      isAnswerable: each.kind !== "miss",
      isRight: ({ sourceId, text }) => each.isRight({ text, sources: [sourceId] }),
    }));
}

/** Returns a number that the tasks of a conversation have in common. */
function conversationOf(taskId: string): number {
  return createHash("sha256").update(taskId.split("<")[0]!).digest().readUInt32BE();
}

function ask<Answer>(port: number, { path, asked }: Question, scores?: readonly number[]): Promise<Answer> {
  // Fitting takes longer than an idle connection is kept.
  return send(port, { method: "POST", path, headers: { Connection: "close" }, body: { ...asked, scores } });
}

/** Fits both models, and judges each question by a fit that has not seen its fold. */
async function fit(port: number, questions: readonly Ranked[]) {
  const folds = [...new Set(questions.map(({ fold }) => fold))];
  const ranked = questions.filter(({ set }) => set !== CENTRES_SET);
  const ranking = fitRanking(ranked);
  const rankings = new Map(
    [...new Set(ranked.map(({ fold }) => fold))].map((fold) => [fold, fitRanking(ranked.filter((each) => each.fold !== fold))]),
  );
  const judged = await forEach(questions, async (question): Promise<Judged> =>
    judge(port, question, rankings.get(question.fold) ?? ranking),
  );
  for (const fold of folds) {
    const weights = fitConfidence(judged.filter((each) => each.fold !== fold));
    for (const each of judged)
      if (each.fold === fold && each.features) each.confidence = probability(weights.values, signals(each.features));
  }
  const confidence = fitConfidence(judged);
  return { judged, lines: figures(judged), ranking, confidence: confidence.named };
}

async function judge(port: number, question: Ranked, ranking: Features): Promise<Judged> {
  const scores = question.candidates.map(({ features }) => score(ranking, features));
  if (scores.length === 0) return { ...question, best: -1, features: null, confidence: 0 };
  return { ...question, ...(await ask<{ best: number; features: Features | null }>(port, question, scores)), confidence: 0 };
}

function score(weights: Features, features: Features): number {
  return Object.keys(weights).reduce((sum, name) => sum + weights[name]! * features[name]!, 0);
}

/**
 * Returns the weights under which the right candidates of a question are the most probable ones (softmax over its candidates),
 * by gradient ascent with Adam (Kingma & Ba 2015).
 */
function fitRanking(questions: readonly Ranked[]): Features {
  const used = questions.filter(({ right }) => right.includes(true) && right.includes(false));
  const names = Object.keys(used[0]!.candidates[0]!.features);
  const rows = used.map(({ candidates, right }) => ({
    right,
    features: candidates.map((each) => names.map((name) => each.features[name]!)),
  }));
  const weights = names.map(() => 1);
  const [momentum, variance] = [names.map(() => 0), names.map(() => 0)];
  for (let step = 1; step <= RANKING_STEPS; step++) {
    const gradient = weights.map((weight) => -RANKING_RIDGE * weight);
    for (const { right, features } of rows) {
      const powers = features.map((row) => Math.exp(row.reduce((sum, value, at) => sum + value * weights[at]!, 0)));
      const all = powers.reduce((sum, power) => sum + power, 0);
      const ofRight = powers.reduce((sum, power, at) => sum + (right[at] ? power : 0), 0);
      for (const [at, row] of features.entries()) {
        const error = (right[at] ? powers[at]! / ofRight : 0) - powers[at]! / all;
        for (const [k, value] of row.entries()) gradient[k]! += (error * value) / rows.length;
      }
    }
    for (const [k, slope] of gradient.entries()) {
      momentum[k] = 0.9 * momentum[k]! + 0.1 * slope;
      variance[k] = 0.99 * variance[k]! + 0.01 * slope * slope;
      weights[k]! += (0.1 * momentum[k]) / (1 - 0.9 ** step) / (Math.sqrt(variance[k] / (1 - 0.99 ** step)) + 1e-8);
    }
  }
  return Object.fromEntries(names.map((name, at) => [name, weights[at]!]));
}

/** Returns the features without the constant, which is the intercept. */
function signals(features: Features): number[] {
  return Object.entries(features).flatMap(([name, value]) => (name === "constant" ? [] : [value]));
}

function fitConfidence(judged: readonly Judged[]): { values: readonly number[]; named: Features } {
  const used = judged.filter((each) => each.features !== null);
  const countOf = ({ set }: Judged): number => (set === CENTRES_SET ? CENTRES_COUNT : 1);
  const countWhere = (isAnswerable: boolean): number =>
    used.filter((each) => each.isAnswerable === isAnswerable).reduce((sum, each) => sum + countOf(each), 0);
  const odds = UNANSWERABLE_SHARE / (1 - UNANSWERABLE_SHARE);
  const unanswerableCount = (odds * countWhere(true)) / countWhere(false);
  const names = Object.keys(used[0]!.features!);
  const values = fitLogistic(
    used.map((each) => ({
      signals: signals(each.features!),
      isRight: each.right[each.best]!,
      count: countOf(each) * (each.isAnswerable ? 1 : unanswerableCount),
    })),
    names.slice(1).map((name) => CONFIDENCE_SIGNS[name] ?? "positive"),
    CONFIDENCE_RIDGE,
  );
  return { values, named: Object.fromEntries(names.map((name, at) => [name, values[at]!])) };
}

function figures(judged: readonly Judged[]): string[] {
  return [...new Set(judged.map(({ set }) => set))].map((set) => {
    const all = judged.filter((each) => each.set === set).map((each) => ({ ...each, isBestRight: each.right[each.best] === true }));
    const [can, cannot] = [all.filter((each) => each.isAnswerable), all.filter((each) => !each.isAnswerable)];
    const share = (some: typeof all, holds: (each: (typeof all)[number]) => boolean): string =>
      mean(some.map((each) => Number(holds(each)))).toFixed(3);
    const confidences = (some: typeof all): number[] => some.map(({ confidence }) => confidence);
    return [
      `${set}: right first ${share(can, (each) => each.isBestRight)}`,
      ...THRESHOLDS.map((threshold) => {
        const isAnswered = ({ confidence }: Judged): boolean => confidence >= threshold;
        const [rightly, wrongly] = [true, false].map((right) => share(can, (each) => isAnswered(each) && each.isBestRight === right));
        return `from ${threshold} on answered rightly ${rightly}, wrongly ${wrongly}, unanswerable answered ${share(cannot, isAnswered)}`;
      }),
      `AUROC answerable ${auroc(confidences(can), confidences(cannot)).toFixed(3)}`,
      `refused at 90 % ${refusedAt(0.9, confidences(can), confidences(cannot)).toFixed(3)}`,
      `calibration error ${calibrationError(all.map(({ confidence, isBestRight }) => ({ confidence, isRight: isBestRight }))).toFixed(3)}`,
    ].join(", ");
  });
}

/** Returns a line with the result of a question. */
function describe({ fold, asked, isAnswerable: can, right, best, candidates, confidence }: Judged): string {
  const outcome = right[best] ? "right" : can ? (right.includes(true) ? "wrong, though there was a right one" : "wrong") : "unanswerable";
  const text = candidates[best]?.text.replaceAll(/\s+/g, " ").slice(0, 100) ?? "";
  return [fold, confidence.toFixed(2), outcome, asked.question, text].join(" | ");
}

function source(fitted: Kind, answer: Features, confidence: Features, lines: readonly string[]): string {
  const table = (weights: Features, indent: string): string =>
    Object.entries(weights)
      .map(([feature, weight]) => `${indent}${feature}: ${Number(weight.toFixed(3))},`)
      .join("\n");
  const comment = `/*
 * Written by \`npm run fit:answers${fitted === "semantic" ? "" : ` -- --${fitted}`}\`.
 * The figures are of questions that the fit has not seen. "Right first", "answered rightly" and "wrongly" are shares of the answerable
 * questions; "from 0.5 on" means at a confidence threshold of 0.5; "refused at 90 %" is the share of the unanswerable questions that are
 * refused where 90 % of the others are answered.
${lines.map((line) => ` * ${line}`).join("\n")}
 */`;
  if (fitted === "read") {
    return `${comment}
import type { ReadFeatures, Weights } from "./ranking.ts";

export const READ_FIT: Weights<ReadFeatures> = {
${table(confidence, "  ")}
};
`;
  }
  return `${comment}
import type { Fit } from "./ranking.ts";

export const ${fitted.toUpperCase()}_FIT: Fit = {
  answer: {
${table(answer, "    ")}
  },
  confidence: {
${table(confidence, "    ")}
  },
};
`;
}

await main();
