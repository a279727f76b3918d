import { AnswerReader } from "./answer-reader.ts";
import { SentenceEncoder } from "./encoder.ts";
import { Network, type WeightsFile } from "./network.ts";

export const ENCODER_NAME = "all-MiniLM-L6-v2";

/** Static assets of the deployment (scripts/web.ts), with their sizes. */
const ENCODER_WEIGHTS = { path: "encoder/minilm-l6.bin", bytes: 23_292_512 };
const READER_WEIGHTS = { path: "encoder/reader.bin", bytes: 9_021_408 };

type Assets = Pick<Env, "ASSETS">;

/** All objects of an isolate share the weights, which take 32 MB, and those of the reader 9 MB more. */
const loadNetwork = once(({ ASSETS: assets }) => fetchWeights(assets, ENCODER_WEIGHTS, (file) => Network.load(file)));

/** Returns the deployment's encoder, which is loaded by the first call. @throws Error if the weights cannot be read. */
export const sentenceEncoder = once(async (env) => new SentenceEncoder(await loadNetwork(env)));

/** Returns the deployment's reader, which is loaded by the first call. @throws Error if the weights cannot be read. */
export const answerReader = once(async (env) => {
  const network = await loadNetwork(env);
  return new AnswerReader(await fetchWeights(env.ASSETS, READER_WEIGHTS, (file) => network.loadVariant(file)));
});

async function fetchWeights<Loaded>(
  assets: Fetcher,
  { path, bytes }: typeof ENCODER_WEIGHTS,
  load: (file: WeightsFile) => Promise<Loaded>,
): Promise<Loaded> {
  // The binding ignores the host of the URL.
  const { ok, status, body } = await assets.fetch(`https://assets/${path}`);
  if (!ok || !body) throw new Error(`The weights of ${path} were answered with status ${status}`);
  return load({ stream: body, bytes });
}

/** Calls a function once and keeps its result, unless it fails. */
function once<Result>(create: (env: Assets) => Promise<Result>): (env: Assets) => Promise<Result> {
  let result: Promise<Result> | undefined;
  return (env) =>
    (result ??= create(env).catch((error: unknown) => {
      result = undefined;
      throw error;
    }));
}
