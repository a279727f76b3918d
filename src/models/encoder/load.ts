import { SentenceEncoder } from "./encoder.ts";

export const ENCODER_NAME = "all-MiniLM-L6-v2";

/** A static asset of the deployment (scripts/web.ts). The host is not looked up. */
const WEIGHTS_URL = "https://assets/encoder/minilm-l6.bin";
const WEIGHTS_BYTES = 23_292_512;

/** All objects of an isolate share one encoder, which takes 32 MB. */
let loading: Promise<SentenceEncoder> | undefined;

/** Returns the deployment's encoder, which is loaded by the first call. @throws Error if the weights cannot be read. */
export function sentenceEncoder({ ASSETS: assets }: Pick<Env, "ASSETS">): Promise<SentenceEncoder> {
  loading ??= loadFrom(assets).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function loadFrom(assets: Fetcher): Promise<SentenceEncoder> {
  const { ok, status, body } = await assets.fetch(WEIGHTS_URL);
  if (!ok || !body) throw new Error(`The weights of the encoder were answered with status ${status}`);
  return SentenceEncoder.load(body, WEIGHTS_BYTES);
}
