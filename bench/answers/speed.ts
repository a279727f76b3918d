import { randomNumbers } from "../random.ts";
import { type Service, teach } from "./service.ts";

/** Sizes of the knowledge that are compared. */
const CHUNKS = [1_000, 200_000];
/** A text of this many sections stays below the 5 MB that a source may hold. */
const SECTIONS_PER_TEXT = 8_000;
const WORDS_PER_SECTION = 60;
const VOCABULARY = 30_000;
const QUESTIONS = 200;
const WORDS_PER_QUESTION = 5;
/** Fills agents with chunks of words that are as unevenly common as a language's, and times their searches, one by one. */
export async function measureSpeed(service: Service): Promise<[string, string][]> {
  const random = randomNumbers(1);
  const rows: [string, string][] = [];
  for (const size of CHUNKS) {
    const agentId = await service.createAgent(`${size} chunks`);
    const startMs = performance.now();
    const { chunks } = await teach(service, agentId, texts(size, random));
    const seconds = (performance.now() - startMs) / 1000;
    const timesMs: number[] = [];
    for (let at = 0; at < QUESTIONS; at++) timesMs.push(await searchMs(service, agentId, random));
    rows.push([`${chunks} chunks`, `${describe(timesMs)}; taught in ${seconds.toFixed(0)} s`]);
  }
  rows.push(["while a text of 5 MB is taken up", describe(await whileTeaching(service, random))]);
  return rows;
}

async function whileTeaching(service: Service, random: () => number): Promise<number[]> {
  const agentId = await service.createAgent("Busy");
  await teach(service, agentId, texts(CHUNKS[0]!, random));
  const timesMs: number[] = [];
  let isTaught = false;
  const teaching = teach(service, agentId, texts(SECTIONS_PER_TEXT, random)).finally(() => (isTaught = true));
  while (!isTaught) timesMs.push(await searchMs(service, agentId, random));
  await teaching;
  return timesMs;
}

async function searchMs({ call }: Service, agentId: string, random: () => number): Promise<number> {
  const query = `How do I ${words(WORDS_PER_QUESTION, random)}?`;
  const startMs = performance.now();
  await call("POST", `/agents/${agentId}/search`, { query, limit: 5 }, 200);
  return performance.now() - startMs;
}

function describe(timesMs: number[]): string {
  timesMs.sort((a, b) => a - b);
  const at = (share: number): string => timesMs[Math.floor((timesMs.length - 1) * share)]!.toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms`;
}

function texts(chunks: number, random: () => number): { name: string; text: string }[] {
  return Array.from({ length: Math.ceil(chunks / SECTIONS_PER_TEXT) }, (_, at) => {
    const sections = Math.min(SECTIONS_PER_TEXT, chunks - at * SECTIONS_PER_TEXT);
    const text = Array.from({ length: sections }, () => `## ${words(2, random)}\n\n${words(WORDS_PER_SECTION, random)}.`).join("\n\n");
    return { name: `Text ${at}`, text };
  });
}

/** Words by Zipf's law: the tenth most common one comes a tenth as often as the first. */
function words(count: number, random: () => number): string {
  return Array.from({ length: count }, () => word(Math.floor(VOCABULARY ** random()))).join(" ");
}

const SYLLABLES = "ba ke li mo nu ra se ti vo zu dan fer gil hom jut pel qui ros wen xal".split(" ");

/** The word of this rank, of three syllables or more. */
function word(rank: number): string {
  let rest = rank + SYLLABLES.length ** 2;
  let made = "";
  for (; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) made += SYLLABLES[rest % SYLLABLES.length];
  return made;
}
