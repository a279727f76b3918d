import { expect, test } from "vitest";
import { behaveAt, newHost, receivedBy } from "../../outbound.ts";
import { createReader, createSite, work } from "./site.ts";

test("a website is crawled from its start page along its links, and its text is found by search", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/a", "b/", "#top", "mailto:a@example.com"] });
  await site.has("/a", { text: "Parcels leave in the evening.", links: ["/", "/b/"] });
  await site.has("/b/", { text: "Zebras are striped animals of the savannah.", links: ["/missing"] });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({
    status: "ready",
    error: null,
    pages_found: 4,
    pages_indexed: 3,
    pages_failed: 1,
    pages_skipped: 0,
    last_synced_at: expect.any(String),
  });
  expect(source.chunks_count).toBeGreaterThanOrEqual(3);
  expect(await reader.pages(source.id)).toEqual({ "/": "indexed", "/a": "indexed", "/b/": "indexed", "/missing": "failed: http_404" });
  expect(await site.requested()).toEqual(["/", "/a", "/b/", "/missing"]);
  const [found] = await reader.search("What animals are zebras?");
  expect(found).toMatchObject({ type: "page", url: site.at("/b/"), source_id: source.id, title: expect.stringContaining("Title of /b/") });
});

test("pages that robots.txt forbids are not fetched but listed as skipped; its sitemaps are read", async () => {
  const site = await createSite();
  const rules = [
    "User-agent: *\nDisallow: /",
    "User-agent: SupportAgentBot\nDisallow: /private/\nAllow: /private/open\nDisallow: /*.php$",
    `Sitemap: ${site.at("/maps/index.xml")}`,
  ];
  await site.answers("/robots.txt", { body: rules.join("\n\n"), headers: { "Content-Type": "text/plain" } });
  const index = `<sitemapindex><sitemap><loc>${site.at("/maps/pages.xml.gz")}</loc></sitemap><sitemap><loc>https://else.example.com/m.xml</loc></sitemap></sitemapindex>`;
  await site.answers("/maps/index.xml", { body: index, headers: { "Content-Type": "application/xml" } });
  const pages = `<urlset><url><loc>${site.at("/from-map")}</loc></url><url><loc>${site.at("/private/map")}</loc></url></urlset>`;
  await site.answers("/maps/pages.xml.gz", { body: pages, gzip: true, headers: { "Content-Type": "application/xml" } });
  await site.has("/", { links: ["/private/a", "/private/open", "/old.php", "/old.php?x=1"] });
  for (const path of ["/private/open", "/from-map", "/old.php?x=1"]) await site.has(path, {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(await reader.pages(source.id)).toEqual({
    "/": "indexed",
    "/private/open": "indexed",
    "/from-map": "indexed",
    "/old.php?x=1": "indexed",
    "/private/a": "skipped: robots",
    "/private/map": "skipped: robots",
    "/old.php": "skipped: robots",
  });
  expect(source).toMatchObject({ status: "ready", pages_found: 7, pages_indexed: 4, pages_skipped: 3, pages_failed: 0 });
  expect(await site.requested()).toEqual(["/", "/maps/index.xml", "/private/open", "/old.php?x=1", "/maps/pages.xml.gz", "/from-map"]);
  const [robots] = await receivedBy(site.host);
  expect(robots).toMatchObject({ place: `${site.host}/robots.txt` });
  expect(robots?.headers["user-agent"]).toContain("SupportAgentBot");
});

test("a start page that robots.txt forbids fails the source with the reason", async () => {
  const site = await createSite();
  await site.answers("/robots.txt", { body: "User-agent: *\nDisallow: /" });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({
    status: "failed",
    error: { code: "nothing_read", message: expect.stringContaining("robots") },
    pages_skipped: 1,
  });
  expect(await site.requested()).toEqual([]);
});

test("a robots.txt that returns errors stops the crawl before any page", async () => {
  const site = await createSite();
  await site.answers("/robots.txt", { status: 503 });
  await site.has("/", {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "failed", error: { code: "robots_unreachable", message: expect.stringContaining("http_503") } });
  expect((await receivedBy(site.host)).map(({ place }) => place)).toEqual(Array(3).fill(`${site.host}/robots.txt`));
});

test("Crawl-delay is respected: one page per wake-up", async () => {
  const site = await createSite();
  await site.answers("/robots.txt", { body: "User-agent: *\nCrawl-delay: 10\nSitemap: none" });
  await site.has("/", { links: ["/a", "/b"] });
  await site.has("/a", {});
  await site.has("/b", {});
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const { waits } = await work(reader.message(id));
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 3 });
  expect(waits.length).toBeGreaterThanOrEqual(3);
  expect(new Set(waits)).toEqual(new Set([10]));
});

test("a page with several URLs is fetched once", async () => {
  const site = await createSite();
  const links = [
    "/a",
    "/a/",
    "/a#part",
    "/a?utm_source=x",
    "/a?fbclid=1#b",
    "//" + site.host + "/a",
    "/a/index.html",
    "http://" + site.host + "/a",
  ];
  await site.has("/", { links: [...links, "/c?b=1&a=2", "/c?a=2&b=1"] });
  await site.has("/a", {});
  await site.has("/c", {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(await site.requested()).toEqual(["/", "/a", "/c?b=1&a=2"]);
  expect(source).toMatchObject({ pages_found: 3, pages_indexed: 3 });
});

test("canonical, noindex, empty and duplicate pages are not indexed, and are listed with their reasons", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/copy", "/hidden", "/header", "/empty", "/double", "/elsewhere", "/broken"] });
  await site.has("/copy", { head: `<link rel="canonical" href="/page">` });
  await site.has("/page", { text: "The page to read." });
  await site.has("/hidden", { head: `<meta name="robots" content="noindex">`, links: ["/behind"] });
  await site.has("/behind", {});
  await site.has("/header", { headers: { "X-Robots-Tag": "noindex, nofollow" }, links: ["/unseen"] });
  await site.answers("/empty", { headers: { "Content-Type": "text/html" }, body: "<html><body></body></html>" });
  await behaveAt(`${site.host}/double`, { headers: { "Content-Type": "text/plain" }, body: "Twice the same words." });
  await site.has("/elsewhere", { head: `<link rel="canonical" href="https://other.example.com/page">` });
  await site.has("/broken", { head: `<link rel="canonical" href="/gone">`, links: ["/gone"] });
  await behaveAt(`${site.host}/behind`, {
    headers: { "Content-Type": "text/html" },
    body: `<title>D</title><a href="/double2">x</a><p>Behind it all.</p>`,
  });
  await behaveAt(`${site.host}/double2`, { headers: { "Content-Type": "text/plain" }, body: "Twice the same words." });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  const pages = await reader.pages(source.id);
  expect(pages).toMatchObject({
    "/": "indexed",
    "/page": "indexed",
    "/hidden": "skipped: noindex",
    "/header": "skipped: noindex",
    "/behind": "indexed",
    "/double": "indexed",
    "/elsewhere": "indexed",
    "/gone": "failed: http_404",
  });
  expect(pages["/empty"]).toMatch(/^skipped: /);
  expect(Object.keys(pages)).not.toContain("/copy");
  expect(Object.keys(pages)).not.toContain("/unseen");
});

test("redirects are followed within the site, but not to other hosts and not in a loop", async () => {
  const site = await createSite();
  const other = await createSite();
  const to = (location: string) => ({ status: 301, headers: { Location: location } });
  await site.has("/", { links: ["/old", "/away", "/loop1", "/self", "/inside", "/chain0", "/login-wall"] });
  await site.answers("/old", to("/new/"));
  await site.has("/new/", {});
  await site.answers("/away", to(other.at("/page")));
  await site.answers("/loop1", to("/loop2"));
  await site.answers("/loop2", to("/loop1"));
  await site.answers("/self", to("/self"));
  await site.answers("/inside", to("http://127.0.0.1:8787/"));
  for (let at = 0; at < 15; at++) await site.answers(`/chain${at}`, to(`/chain${at + 1}`));
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  const pages = await reader.pages(source.id);
  expect(pages).toMatchObject({
    "/": "indexed",
    "/new/": "indexed",
    "/away": "skipped: other_host",
    "/self": "failed: redirect_loop",
    "/inside": "failed: blocked_url",
    "/loop2": "failed: redirect_loop",
    "/chain10": "failed: too_many_redirects",
  });
  expect(await receivedBy(other.host)).toEqual([]);
});

test("a start page that redirects to another host moves the crawl there, under that host's robots.txt", async () => {
  const site = await createSite();
  const moved = await createSite();
  await site.answers("/", { status: 302, headers: { Location: moved.at("/en") } });
  await moved.answers("/robots.txt", { body: "User-agent: *\nDisallow: /secret" });
  await moved.has("/en", { links: ["/a", "/secret", site.at("/b")] });
  await moved.has("/a", {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(await reader.pages(source.id)).toMatchObject({ "/en": "indexed", "/a": "indexed", "/secret": "skipped: robots" });
  expect(await site.requested()).toEqual(["/"]);
  expect(await moved.requested()).toEqual(["/en", "/a"]);
});

test("a start page that comes back from another host, as from a page of consent, is read under its own rules", async () => {
  const site = await createSite();
  const other = await createSite();
  await site.answers("/robots.txt", { body: "User-agent: *\nDisallow: /secret" });
  await site.answers("/", { status: 302, headers: { Location: other.at("/consent") } });
  await other.answers("/consent", { status: 302, headers: { Location: site.at("/?ok=1") } });
  await site.has("/?ok=1", { links: ["/a", "/secret"] });
  await site.answers("/sitemap.xml", {
    headers: { "Content-Type": "application/xml" },
    body: `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${site.at("/unlinked")}</loc></url></urlset>`,
  });
  await site.has("/a", { text: "Lions roar at night." });
  await site.has("/unlinked", { text: "Penguins cannot fly." });
  const reader = await createReader();
  const { id, status } = await reader.read({ url: site.at("/") });
  expect(status).toBe("ready");
  expect((await reader.search("lions roar"))[0].content).toContain("roar");
  expect((await reader.search("penguins"))[0].content).toContain("fly");
  expect(await reader.pages(id, "skipped")).toMatchObject({ "/secret": "skipped: robots" });
});

test("a redirect to the same page with a slash follows robots.txt", async () => {
  const site = await createSite();
  await site.answers("/robots.txt", { body: "User-agent: *\nDisallow: /private/" });
  await site.has("/", { links: ["/private"] });
  await site.answers("/private", { status: 301, headers: { Location: site.at("/private/") } });
  await site.has("/private/", { text: "Lions roar at night." });
  const reader = await createReader();
  const { id } = await reader.read({ url: site.at("/") });
  expect(await reader.pages(id, "skipped")).toEqual({ "/private": "skipped: robots" });
  expect(await site.requested()).toEqual(["/", "/private"]);
});

test("http that redirects to https with www is one site, fetched under that origin", async () => {
  const host = newHost();
  const www = await createSite(`www.${host}`);
  const bare = await createSite(host);
  await bare.answers("/", { status: 301, headers: { Location: www.at("/") } });
  await www.has("/", { links: ["/a", bare.at("/b")] });
  await www.has("/a", {});
  await www.has("/b", {});
  const reader = await createReader();
  const source = await reader.read({ url: `http://${host}/` });
  expect(source).toMatchObject({ status: "ready", pages_found: 3, pages_indexed: 3 });
  expect(await www.requested()).toEqual(["/", "/a", "/b"]);
  const found = await reader.search("page b is about");
  expect(found.map(({ url }) => url)).toContain(www.at("/b"));
});

test("no more than max_pages are read, and the rest is listed as skipped", async () => {
  const site = await createSite();
  await site.has("/", { links: Array.from({ length: 30 }, (_, at) => `/p${at}`) });
  for (let at = 0; at < 30; at++) await site.has(`/p${at}`, { links: at === 0 ? ["/hidden"] : [] });
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/"), max_pages: 12 });
  expect(source).toMatchObject({ status: "ready", pages_indexed: 12, pages_failed: 0 });
  expect(await site.requested()).toHaveLength(12);
  const skipped = await reader.pages(source.id, "skipped");
  expect(Object.keys(skipped)).toHaveLength(source.pages_skipped);
  expect(new Set(Object.values(skipped))).toEqual(new Set(["skipped: max_pages"]));
});

test("articles whose numbers look like years are not treated as a calendar", async () => {
  const site = await createSite();
  const articles = Array.from({ length: 25 }, (_, at) => `/articles/${1950 + at}`);
  await site.has("/", { links: articles });
  for (const path of articles) await site.has(path, {});
  const reader = await createReader();
  const source = await reader.read({ url: site.at("/") });
  expect(source).toMatchObject({ status: "ready", pages_found: 26, pages_indexed: 26 });
});

test("a page with errors is retried and then listed as failed; the source is ready without it", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/down", "/flaky", "/reset", "/ok"] });
  await site.answers("/down", { status: 500 });
  await site.answers("/reset", { fails: "reset" });
  await site.answers("/flaky", { status: 502 }, { headers: { "Content-Type": "text/plain" }, body: "Up again." });
  await site.has("/ok", {});
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const { waits } = await work(reader.message(id));
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 3, pages_failed: 2 });
  expect(await reader.pages(id, "failed")).toEqual({ "/down": "failed: http_500", "/reset": "failed: connection_failed" });
  expect(waits).toEqual([5, 30]);
});

test("after 429 with Retry-After nothing is fetched from the site for that long", async () => {
  const site = await createSite();
  await site.has("/", { links: ["/a", "/b"] });
  await site.answers(
    "/a",
    { status: 429, headers: { "Retry-After": "90" } },
    { headers: { "Content-Type": "text/plain" }, body: "A text." },
  );
  await site.has("/b", {});
  const reader = await createReader();
  const { id } = await reader.add({ url: site.at("/") });
  const { waits } = await work(reader.message(id));
  expect(waits).toEqual([90]);
  expect(await site.requested()).toEqual(["/", "/a", "/a", "/b"]);
  expect(await reader.find(id)).toMatchObject({ status: "ready", pages_indexed: 3, pages_failed: 0 });
});

test("a url source is one page: redirects are followed to any host, and robots.txt is not read", async () => {
  const site = await createSite();
  const other = await createSite();
  await site.answers("/robots.txt", { body: "User-agent: *\nDisallow: /" });
  await site.answers("/page", { status: 302, headers: { Location: other.at("/real") } });
  await other.has("/real", { text: "Lions roar at night.", links: ["/next"], head: `<meta name="robots" content="noindex">` });
  const reader = await createReader();
  const source = await reader.read({ type: "url", url: site.at("/page") });
  expect(source).toMatchObject({ status: "ready", pages_found: 1, pages_indexed: 1 });
  expect((await receivedBy(site.host)).map(({ place }) => place)).toEqual([`${site.host}/page`]);
  expect(await other.requested()).toEqual(["/real"]);
  expect(await reader.search("lions roar")).toHaveLength(1);
});

test("a url source that is not found fails with the reason", async () => {
  const site = await createSite();
  const reader = await createReader();
  const source = await reader.read({ type: "url", url: site.at("/none") });
  expect(source).toMatchObject({
    status: "failed",
    error: { code: "nothing_read", message: expect.stringContaining("http_404") },
    pages_failed: 1,
    pages_indexed: 0,
  });
});
