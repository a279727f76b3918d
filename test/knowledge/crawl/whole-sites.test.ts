import { describe, expect, test } from "vitest";
import { createReader, createSite, type Site } from "./site.ts";

const MAX_PAGES = 500;
/** The most pages of an endless part that are read for nothing. */
const MOST_WASTED = 50;

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Reads a site from its start page. @returns the paths that were requested, without the start page. */
async function crawl(site: Site): Promise<string[]> {
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/"), max_pages: MAX_PAGES });
  expect(source).toMatchObject({ status: "ready", pages_failed: 0 });
  const requested = await site.requested();
  expect(new Set(requested).size).toBe(requested.length);
  return requested.filter((path) => path !== "/");
}

describe("a list of 100 pages is read whole", () => {
  test.for<[string, (page: number) => string]>([
    ["a parameter", (page) => `/news?page=${page}`],
    ["a parameter beside others", (page) => `/news?topic=all&p=${page}`],
    ["an offset", (page) => `/news?offset=${page * 20}`],
    ["a path", (page) => `/news/page/${page}`],
    ["a short path", (page) => `/p/${page}`],
    ["a file's name", (page) => `/news/page-${page}.html`],
  ])("whose pages are numbered by %s, though each links to the next one only and shows the same", async ([, at]) => {
    const site = await createSite();
    await site.has("/", { links: [at(1)] });
    for (const page of numbers(1, 100))
      await site.answers(at(page), html("News", `<p>Older news</p>${anchors(page < 100 ? [at(page + 1)] : [])}`));
    expect(await crawl(site)).toEqual(numbers(1, 100).map(at));
  });

  test("with the articles that hang on its pages", async () => {
    const site = await createSite();
    await site.has("/", { links: ["/blog/page/1"] });
    const articlesOn = (page: number) => numbers(1, 3).map((at) => `/blog/${["on", "about", "why"][at - 1]}-the-${page}th-day`);
    for (const page of numbers(1, 60)) {
      await site.has(`/blog/page/${page}`, { links: [...articlesOn(page), ...(page < 60 ? [`/blog/page/${page + 1}`] : [])] });
      for (const article of articlesOn(page)) await site.has(article, { links: ["/blog/page/1"] });
    }
    const requested = await crawl(site);
    expect(requested.filter((path) => path.startsWith("/blog/page/"))).toHaveLength(60);
    expect(new Set(requested)).toEqual(new Set(numbers(1, 60).flatMap((page) => [`/blog/page/${page}`, ...articlesOn(page)])));
  });

  test("with items behind a parameter", async () => {
    const site = await createSite();
    const items = numbers(1, 280).map((item) => `/show?item=${item}`);
    await site.has("/", { links: items });
    for (const [at, item] of items.entries()) await site.answers(item, html("Item", `<p>This one weighs ${at + 100} grams.</p>`));
    expect(await crawl(site)).toEqual(items);
  });
});

test("a shop whose products link one to the next is read to the last one", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/product/1"] });
  for (const product of numbers(1, 120)) {
    const text = `<p>Product ${product} costs ${(product * 7) % 90} euros.</p>${anchors(product < 120 ? [`/product/${product + 1}`] : [])}`;
    await site.answers(`/product/${product}`, html(`Product ${product}`, text));
  }
  expect(await crawl(site)).toHaveLength(120);
});

describe(`of an endless calendar at most ${MOST_WASTED} pages are wasted, and what it leads to is read`, () => {
  const day = (at: number): Date => new Date(Date.UTC(2026, 0, 1 + at));
  const iso = (at: number): string => day(at).toISOString().slice(0, 10);
  const inWords = (at: number): string =>
    day(at).toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

  test.for<[string, (at: number) => string]>([
    ["by parameter", (at) => `/calendar?date=${iso(at)}`],
    [
      "by several parameters",
      (at) => `/calendar?view=day&y=${iso(at).slice(0, 4)}&m=${day(at).getUTCMonth() + 1}&d=${day(at).getUTCDate()}`,
    ],
    ["by path", (at) => `/calendar/${iso(at).replaceAll("-", "/")}`],
    ["by date in a segment", (at) => `/whats-on/${iso(at)}`],
    ["by number", (at) => `/calendar?ahead=${at}`],
  ])("%s", async ([, at]) => {
    const site = await createSite();
    await site.has("/", { links: [at(0), "/about"] });
    await site.has("/about", {});
    await site.has("/party", {});
    for (const each of numbers(0, 399)) {
      const isParty = each === 4;
      const text = `<p>${inWords(each)}</p><p>${isParty ? 'We celebrate with cake: <a href="/party">party</a>.' : "Nothing happens on this day."}</p>`;
      const others = [each + 1, each + 7, each + 30]
        .filter((other) => other < 400)
        .map((other) => `<li><a href="${at(other)}">${inWords(other)}</a></li>`);
      await site.answers(at(each), html(`Events on ${inWords(each)}`, `${text}<ul>${others.join("")}</ul>`));
    }
    const requested = await crawl(site);
    expect(requested).toEqual(expect.arrayContaining(["/about", "/party"]));
    expect(requested.length - 3).toBeLessThanOrEqual(MOST_WASTED);
  });
});

test("a calendar that counts its days is endless, too", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/calendar?day=1"] });
  for (const day of numbers(1, 200)) {
    const text = `<p>Nothing happens on day ${day} of this year.</p>${anchors([`/calendar?day=${day + 1}`])}`;
    await site.answers(`/calendar?day=${day}`, html(`Day ${day}`, text));
  }
  expect((await crawl(site)).length).toBeLessThanOrEqual(MOST_WASTED);
});

test("a list without end is left where its pages say nothing new", async () => {
  const site = await createSite();
  const at = (page: number) => `/news?page=${page}`;
  await site.has("/", { links: [at(1)] });
  for (const page of numbers(1, 300)) {
    const items = page <= 40 ? `<p>News of item ${page * 31}, which came to pass.</p>` : "<p>There is nothing here.</p>";
    await site.answers(at(page), html(`News, page ${page}`, `${items}<a href="${at(page + 1)}">Page ${page + 1}</a>`));
  }
  const requested = await crawl(site);
  expect(requested).toEqual(expect.arrayContaining(numbers(1, 100).map(at)));
  expect(requested.length).toBeLessThan(200);
});

describe(`of pages with session identifiers at most ${MOST_WASTED} are read twice`, () => {
  const topics = ["refunds", "parcels", "accounts"];
  const paths = numbers(1, 60).map((each) => `/help/${topics[each % 3]}-${each}`);
  // Each response names a session of its own in all of its links.
  const session = (page: number, response: number): string => `x${page}q${response}`;
  const sessions = numbers(0, paths.length - 1).map((page) => session(page, 1));

  test.for<[string, (path: string, session: string) => string, (path: string) => string[]]>([
    ["in a parameter", (path, id) => `${path}?visit=${id}`, (path) => [path]],
    ["in two parameters", (path, id) => `${path}?visit=${id}&token=${id}9`, (path) => [path]],
    ["in the path", (path, id) => `/(s${id})${path}`, (path) => sessions.map((id) => `/(s${id})${path}`)],
  ])("%s", async ([, at, placesOf]) => {
    const site = await createSite();
    await site.has("/", { links: paths.map((path) => at(path, sessions[0]!)) });
    for (const [page, path] of paths.entries()) {
      const text = `<p>All about ${path.slice(6)}, and how we deal with it when ${page * 31} people ask.</p>`;
      const responses = numbers(1, 20).map((response) => {
        return html(path, text + anchors(paths.map((other) => at(other, session(page, response)))));
      });
      for (const place of placesOf(path)) await site.answers(place, responses[0]!, ...responses.slice(1));
    }
    const requested = await crawl(site);
    const read = new Set(requested.map((path) => paths.find((each) => path.split("?")[0]!.endsWith(each))));
    expect(read).toEqual(new Set(paths));
    expect(requested.length - paths.length).toBeLessThanOrEqual(MOST_WASTED);
  });
});

test(`of combinations of filters at most ${MOST_WASTED} pages are wasted, and every product is read`, async () => {
  const site = await createSite();
  const filters = {
    colour: ["red", "blue", "green"],
    size: ["small", "large"],
    brand: ["acme", "apex", "zenith"],
    sort: ["price", "name"],
  };
  const combinations = Object.entries(filters).reduce<Record<string, string>[]>(
    (all, [name, values]) => all.flatMap((each) => [each, ...values.map((value) => ({ ...each, [name]: value }))]),
    [{}],
  );
  const products = numbers(1, 90).map((number) => ({
    path: `/shoe/${number}`,
    name: `Shoe number ${number} of fine leather`,
    colour: filters.colour[number % 3],
    size: filters.size[number % 2],
    brand: filters.brand[(number >> 1) % 3],
  }));
  const at = (filter: Record<string, string>, page: number): string =>
    `/shoes?${new URLSearchParams({ ...filter, ...(page > 1 && { page: String(page) }) }).toString()}`.replace(/\?$/, "");
  for (const filter of combinations) {
    const { sort, ...wanted } = filter;
    const shown = products.filter((product) => Object.entries(wanted).every(([name, value]) => product[name as "colour"] === value));
    if (sort === "name") shown.reverse();
    const pages = Math.max(1, Math.ceil(shown.length / 10));
    const narrower = Object.entries(filters).flatMap(([name, values]) => values.map((value) => at({ ...filter, [name]: value }, 1)));
    for (const page of numbers(1, pages)) {
      const cards = shown.slice(page * 10 - 10, page * 10).map(({ path, name }) => `<li><a href="${path}">${name}</a></li>`);
      const next = page < pages ? [at(filter, page + 1)] : [];
      const heading = `Shoes ${Object.values(filter).join(" ")}, ${shown.length} results`;
      await site.answers(at(filter, page), html(heading, `<ul>${cards.join("")}</ul>${anchors([...narrower, ...next])}`));
    }
  }
  for (const { path, name } of products) await site.answers(path, html(name, `<p>${name} lasts for years.</p>`));
  await site.has("/", { links: ["/shoes"] });
  const requested = await crawl(site);
  expect(requested.filter((path) => path.startsWith("/shoe/"))).toHaveLength(90);
  const lists = requested.filter((path) => path.startsWith("/shoes"));
  expect(lists).toEqual(expect.arrayContaining(numbers(1, 9).map((page) => at({}, page))));
  expect(lists.length - 9).toBeLessThanOrEqual(MOST_WASTED);
});

function anchors(paths: readonly string[]): string {
  return `<ul>${paths.map((path) => `<li><a href="${path.replaceAll("&", "&amp;")}">more</a></li>`).join("")}</ul>`;
}

function html(title: string, body: string) {
  const page = `<!doctype html><title>${title}</title><main><h1>${title}</h1>${body}</main>`;
  return { headers: { "Content-Type": "text/html; charset=utf-8" }, body: page };
}
