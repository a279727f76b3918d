import { beforeAll, expect, test } from "vitest";
import type { Workspace } from "../harness.ts";
import { createFixture, type MadeUp, madeUp, START_MS, sweepAll, writeRows } from "./fixture.ts";

const NAMES = [
  "Élise École",
  "Zoe\u0308 Mu\u0308ller",
  "Ольга Иванова",
  "山田太郎",
  'Bob "the \\ Boss" O\'Neil',
  "100% Real_Name",
  "100 Realname",
  "İpek Yılmaz",
  "ΣΊΣΥΦΟΣ ΑΣ",
  "😀 Smile 👩‍👩‍👧",
  "Anna NEAR(Bob) AND NOT * ^col:x",
  "محمد علي",
  "Straße 7",
  "q",
  null,
];
const DOMAINS = ["@gmail.com", "@GMAIL.com", "@bücher.example", "@o_o.example", null];
const PHONES = ["+43 (0)664 / 12 3", "+1-202-555-0143", "0664123", "٠١٢٣٤٥", null];
const FIELDS = [
  {},
  { Company: "ÉCOLE GmbH", size: 42 },
  { nested: { "job title": ["CTO", "Über-Chef"], remote: true }, empty: null },
  { "discount_%": "50_50", path: "C:\\temp" },
  { 会社: "東京商事" },
];

/** The same numbers for the same seed, so that a failure can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = randomFrom(20_260_101);
const below = (limit: number) => Math.floor(random() * limit);
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;

/** A straightforward filter, with which the search is compared. */
function finds(lead: MadeUp, q: string): boolean {
  const lower = (text: string) => text.toLowerCase().normalize("NFC").replaceAll("ς", "σ").replaceAll("i\u0307", "i");
  const folded = (text: string) => lower(text.toUpperCase());
  const leaves = (value: unknown): string[] => {
    if (value === null) return [];
    if (typeof value !== "object") return [typeof value === "string" ? value : JSON.stringify(value)];
    if (Array.isArray(value)) return value.flatMap(leaves);
    return Object.entries(value).flatMap(([name, inner]) => [name, ...leaves(inner)]);
  };
  const texts = [lead.name, lead.email, lead.phone].filter((text) => text !== null).concat(leaves(lead.customFields));
  if (texts.some((text) => folded(text).includes(folded(q)))) return true;
  return /^[0-9٠-٩]+$/.test(q) && latin(lead.phone ?? "").includes(latin(q));
}

/** The digits of a phone number, the Arabic ones as Latin ones. */
function latin(phone: string): string {
  return phone.replaceAll(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660)).replaceAll(/\D/g, "");
}

/** A part of one of the leads' fields, in any case. */
function someQuery(leads: MadeUp[]): string {
  const { name, email, phone, customFields } = pick(leads);
  const text = pick([name, email, phone, JSON.stringify(customFields)].filter((text) => text !== null));
  const characters = Array.from(text);
  const at = below(characters.length);
  const part = characters.slice(at, at + 1 + below(8)).join("");
  return pick([part, part.toUpperCase(), part.toLowerCase()]);
}

let workspace: Workspace;
let agents: string[];
/** The leads in the order of the list. */
let leads: MadeUp[];

beforeAll(async () => {
  const fixture = await createFixture();
  ({ workspace, agents } = fixture);
  leads = Array.from({ length: 240 }, (_, at) => {
    const domain = pick(DOMAINS);
    const email = domain && `${pick(["ana", "Ben", "çağ"])}.${at}${domain}`;
    // Several in the same second: the identifier decides their order then.
    return madeUp(workspace, pick(agents), below(120), { name: pick(NAMES), email, phone: pick(PHONES), customFields: pick(FIELDS) });
  });
  // Some are indexed late, in another order than the list's.
  for (const part of [leads.slice(0, 150), leads.slice(150, 200), leads.slice(200)]) {
    await writeRows(workspace, part);
    await sweepAll(workspace);
  }
  leads.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
});

const list = (filter: Record<string, string>) => workspace.call("GET", `/leads?${new URLSearchParams(filter).toString()}`);
const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);

/** Walks a filter's whole list by cursor and checks each page against the plain filter. */
async function walk(filter: Record<string, string>): Promise<void> {
  const since = Date.parse(filter["created_since"] ?? "1970-01-01T00:00:00Z");
  const wanted = leads
    .filter((lead) => (filter["agent_id"] ?? lead.agentId) === lead.agentId && lead.createdAtMs >= since && finds(lead, filter["q"] ?? ""))
    .map(({ id }) => id);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { status, body } = await list({ ...filter, limit: "50", ...(cursor && { cursor }) });
    expect({ filter, status, total: body.total }).toEqual({ filter, status: 200, total: wanted.length });
    seen.push(...idsOf(body));
    expect(body.has_more).toBe(body.next_cursor !== null);
    cursor = body.next_cursor;
  } while (cursor);
  expect({ filter, seen }).toEqual({ filter, seen: wanted });
  const { body } = await list({ ...filter, limit: "3", offset: "2" });
  expect({ filter, ids: idsOf(body), total: body.total }).toEqual({ filter, ids: wanted.slice(2, 5), total: wanted.length });
}

const SINCE = new Date(START_MS + 60_000).toISOString();

test("without a search: every filter gives the right pages and the exact total", async () => {
  await walk({});
  await walk({ agent_id: agents[0]! });
  await walk({ created_since: SINCE });
  await walk({ agent_id: agents[1]!, created_since: SINCE });
  await walk({ agent_id: crypto.randomUUID() });
});

test("a search finds what a plain filter finds, with every other filter", async () => {
  for (let at = 0; at < 120; at++) {
    const q = someQuery(leads);
    await walk({ q, ...(below(2) && { agent_id: pick(agents) }), ...(below(2) && { created_since: SINCE }) });
  }
});

test.each(["%", "_", "0%", "l_N", '"', "'", "*", "^", "\\", "(", "-", " ", "AND", "NEAR(", "NOT *", "col:x", "digits : 1", "@", "zzzz"])(
  "%s is taken literally",
  (q) => walk({ q }),
);

test.each([
  ["école", 'ÉCOLE in a name and "École" in a field'],
  ["E\u0301COLE", "an accent of its own"],
  ["zoë", "an accent of its own in the name"],
  ["ΣΊΣΥΦΟΣ", "a final sigma"],
  ["ΑΣ", "a final sigma at a word's end"],
  ["σΊσ", "a sigma in the middle"],
  ["STRASSE", "a sharp s in capitals"],
  ["ipek", "a capital I with its dot"],
  ["YILMAZ", "a small i without one"],
  ["иван", "Cyrillic"],
  ["田", "one character"],
  ["太郎", "two characters"],
  ["東京商", "three"],
  ["😀", "an emoji"],
  ["👩‍👩", "joined emoji"],
  ["company", "a field's name"],
  ["title", "a nested field's name"],
  ["über-chef", "a nested value in a list"],
  ["true", "a truth"],
  ["42", "a number"],
])("%s: %s", async (q) => {
  expect(leads.some((lead) => finds(lead, q))).toBe(true);
  await walk({ q });
  await walk({ q, agent_id: agents[0]! });
});

test("a phone number is found by its digits, however it is formatted", async () => {
  const totalOf = async (q: string) => (await list({ q })).body.total;
  const [austrian, , plain, arabic] = PHONES.map((phone) => leads.filter((lead) => lead.phone === phone).length);
  expect(await totalOf("0664123")).toBe(austrian! + plain!);
  expect(await totalOf("0664/123")).toBe(austrian! + plain!);
  expect(await totalOf("430664")).toBe(austrian);
  expect(await totalOf("012345")).toBe(arabic);
  expect(await totalOf("٠١٢٣٤٥")).toBe(arabic);
  // Too few digits to be a phone number: literal.
  expect(await totalOf("066-4")).toBe(0);
  for (const q of ["0", "6", "43", "02", "664", "12 3"]) await walk({ q });
});

test("a long text that hundreds of leads contain is counted and paged correctly", async () => {
  const { workspace, agents } = await createFixture();
  const phone = "+43 (0)664 / 12 3";
  const many = Array.from({ length: 420 }, (_, at) => madeUp(workspace, agents[at % 2]!, at, { name: `Subscriber no. ${at}`, phone }));
  await writeRows(workspace, many);
  await sweepAll(workspace);
  const idsIn = (from: number, to: number) =>
    many
      .slice(from, to)
      .map(({ id }) => id)
      .toReversed();
  for (const q of ["SUBSCRIBER NO.", "0664/123", "0664 / 123", "43066412", phone]) {
    const { body } = await workspace.call("GET", `/leads?q=${encodeURIComponent(q)}&limit=100`);
    expect([q, body.total, idsOf(body)]).toEqual([q, 420, idsIn(320, 420)]);
    const next = await workspace.call("GET", `/leads?q=${encodeURIComponent(q)}&limit=5&cursor=${body.next_cursor}`);
    expect([q, next.body.total, idsOf(next.body)]).toEqual([q, 420, idsIn(315, 320)]);
    const since = many[400]!.createdAtMs;
    const late = await workspace.call("GET", `/leads?q=${encodeURIComponent(q)}&created_since=${new Date(since).toISOString()}`);
    expect([q, late.body.total, idsOf(late.body)]).toEqual([q, 20, idsIn(400, 420)]);
    const ofAgent = await workspace.call("GET", `/leads?q=${encodeURIComponent(q)}&agent_id=${agents[1]}&limit=1`);
    expect([q, ofAgent.body.total, idsOf(ofAgent.body)]).toEqual([q, 210, idsIn(419, 420)]);
  }
  const one = await workspace.call("GET", "/leads?q=subscriber%20no.%20399");
  expect([one.body.total, idsOf(one.body)]).toEqual([1, idsIn(399, 400)]);
});

test("q takes 200 code points, and an empty one searches nothing", async () => {
  expect((await list({ q: "😀".repeat(200) })).body).toMatchObject({ data: [], total: 0, next_cursor: null });
  expect((await list({ q: "" })).body.total).toBe(leads.length);
  const { body } = await list({ q: "😀".repeat(201), created_since: "soon", limit: "0" });
  expect(body.detail.map((item: any) => [item.loc.join("."), item.type])).toEqual([
    ["query.limit", "greater_than_equal"],
    ["query.q", "string_too_long"],
    ["query.created_since", "datetime_parsing"],
  ]);
});
