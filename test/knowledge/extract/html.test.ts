import { describe, expect, test } from "vitest";
import { pageOf, textOf } from "./page.ts";

describe("text of HTML", () => {
  test("joins inline elements, and breaks at blocks and line breaks", async () => {
    expect(await textOf("<p>un<b>believ</b>able, <i>is</i>n't it?<br>Yes&hellip;</p><div>Next<span>door</span></div>")).toBe(
      "unbelievable, isn't it?\nYes…\n\nNextdoor",
    );
  });

  test("decodes entities once, and drops invisible characters", async () => {
    expect(await textOf("<p>&amp;lt; 5&nbsp;&euro;&#x20;&#8217; soft&shy;hyphen zero\u200bwidth of\ufb01ce \u{e0041}tag</p>")).toBe(
      "&lt; 5 € ’ softhyphen zerowidth office tag",
    );
  });

  test.for([
    ["$9<sup>99</sup>", "$9.99"],
    ["<b>1,299</b><sup>00 €</sup>", "1,299.00 €"],
    ["$9<sup>99</sup>/month or 8<sup>50</sup>  €", "$9.99/month or 8.50 €"],
    ["CHF 7<sup>95</sup> or 8<sup>50</sup> €", "CHF 7.95 or 8.50 €"],
    ["10<sup>3</sup> or 10<sup>-12</sup> or 10<sup>12</sup> cells", "10^3 or 10^-12 or 10^12 cells"],
    ["1<sup>1</sup>/<sub>2</sub> cups of 5 m<sup>2</sup>, on the 1<sup>st</sup>", "1 1/2 cups of 5 m2, on the 1st"],
  ] as const)("does not join a raised number with the digits before it: %s", async ([html, text]) => {
    expect(await textOf(`<p>${html}</p>`)).toBe(text);
  });

  test("leaves out text that is struck through", async () => {
    expect(await textOf("<p><del>50 €</del> 40 €, <s>two</s> <strike>three</strike> <b>four</b> days</p>")).toBe("40 €, four days");
  });

  test("reads tags that were never closed", async () => {
    const text = await textOf("<h2>One<p>a<p>b<ul><li>x<li>y<ul><li>z</ul></ul><table><tr><th>H<th>I<tr><td>1<td>2</table><p>after");
    expect(text).toContain("- x\n- y\n  - z");
    expect(text).toContain("| H | I |\n| --- | --- |\n| 1 | 2 |");
    expect(text).toContain("after");
  });

  test("keeps code as it is", async () => {
    expect(await textOf('<pre><code class="language-js">if (a &lt; b) {\n\treturn  "x";\n\n}\n</code></pre>')).toBe(
      '```js\nif (a < b) {\n\treturn  "x";\n\n}\n```',
    );
    expect(await textOf("<pre>a ``` b</pre>")).toBe("~~~~\na ``` b\n~~~~");
  });

  test("treats a table that contains blocks as layout", async () => {
    const inner = "<table><tr><td>k</td><td>v</td></tr></table>";
    expect(await textOf(`<table><tr><td><h2>Menu</h2><p>Left</p></td><td>${inner}</td></tr></table>`)).toBe("## Menu\n\nLeft\n\n| k | v |");
  });

  test("drops the permalink of a heading, with and without an address", async () => {
    const permalinks = '<a class="headerlink" href="#a" title="Permalink">#</a><a class="anchor">¶</a>';
    expect(await textOf(`<h2>Refunds${permalinks}</h2><p>In five days.</p>`)).toBe("## Refunds\n\nIn five days.");
  });

  test.for([
    ["a row with an empty corner", "<tr><td></td><th>Basic</th><th>Pro</th></tr>", "|  | Basic | Pro |"],
    ["what is in its head", "<thead><tr><td>Plan</td><td>Basic</td><td>Pro</td></tr></thead>", "| Plan | Basic | Pro |"],
    [
      "all rows of header cells at its beginning",
      '<tr><th rowspan="2">Plan</th><th colspan="2">Price</th></tr><tr><th>Monthly</th><th>Yearly</th></tr>',
      "| Plan | Price Monthly | Price Yearly |",
    ],
    [
      "no title above it",
      '<tr><th colspan="3">Our plans</th></tr><tr><th>Plan</th><th>A</th><th>B</th></tr>',
      "Our plans\n\n| Plan | A | B |",
    ],
  ] as const)("takes as a table's header %s", async ([, header, expected]) => {
    const rows = "<tr><th>Seats</th><td>1</td><td>5</td></tr>";
    expect(await textOf(`<table>${header}${rows}</table>`)).toBe(`${expected}\n| --- | --- | --- |\n| Seats | 1 | 5 |`);
  });

  test("makes a list of a table whose rows begin with their names", async () => {
    const rows =
      "<tr><th>Weight:</th><td>5 kg</td></tr><tr><th>Colour</th><td colspan=2>red</td></tr><tr><th colspan=3>Power</th></tr>" +
      "<tr><th colspan=2>Volts</th><td>230</td></tr><tr><th rowspan=2>Plug</th><td>C</td></tr><tr><td>F</td></tr><tr><th>A</th><td>1</td><th>B</th><td>2</td></tr>";
    expect(await textOf(`<table>${rows}</table>`)).toBe(
      "- Weight: 5 kg\n- Colour: red\n\nPower\n\n- Volts: 230\n- Plug: C\n- Plug: F\n- A: 1\n- B: 2",
    );
  });

  test("keeps the columns of a table whose rows have several values", async () => {
    const rows = [
      ["Plan", "Basic", "Plus", "Pro"],
      ["Price", "10 €", "10 €", "20 €"],
      ["Seats", "", "5", "9"],
    ].map(([name, ...values]) => `<tr><th>${name}</th>${values.map((value) => `<td>${value}</td>`).join("")}</tr>`);
    expect(await textOf(`<table>${rows.join("")}</table>`)).toBe(
      "| Plan | Basic | Plus | Pro |\n| Price | 10 € | 10 € | 20 € |\n| Seats |  | 5 | 9 |",
    );
  });

  test("repeats what spans rows or columns, but no row's name", async () => {
    const rows =
      '<tr><th>Plan</th><th colspan="2">Price</th></tr><tr><td rowspan="2">Pro</td><td>month</td><td>9</td></tr><tr><td>year</td><td>90 | 99</td></tr>' +
      '<tr><td>Free</td><td colspan="2">nothing</td></tr><tr><td colspan="2">Setup</td><td>5</td></tr>';
    expect(await textOf(`<table>${rows}</table>`)).toBe(
      "| Plan | Price | Price |\n| --- | --- | --- |\n| Pro | month | 9 |\n| Pro | year | 90 \\| 99 |\n| Free | nothing | nothing |\n| Setup |  | 5 |",
    );
  });

  test("drops lines that generators add, and keeps the same words in cells, headings, terms and items", async () => {
    const lines = ["Warning", "Copy code", "Last updated: May 3, 2024", "Updated 2 days ago", "Updated on Friday, 3 May 2024 by Jo"];
    const added = lines.map((line) => `<p>${line}</p>`).join("");
    const content =
      "<p>Updated every Monday at 9 am.</p><h2>Copy</h2><table><tr><th>Level</th><th>Colour</th></tr><tr><td>Info</td><td>blue</td></tr></table>" +
      "<dl><dt>Warning</dt><dd>yellow</dd></dl><ul><li>Danger</li></ul>";
    expect(await textOf(added + content)).toBe(
      "Updated every Monday at 9 am.\n\n## Copy\n\n| Level | Colour |\n| --- | --- |\n| Info | blue |\n\nWarning: yellow\n\n- Danger",
    );
  });

  test("drops hidden elements, and keeps panels that a click opens", async () => {
    const hidden = '<p hidden>a</p><p aria-hidden="true">b</p><p style="color:red; display : none">c</p><span class="sr-only">d</span>';
    const opened =
      '<div role="tabpanel" hidden>tab</div><button aria-expanded="false" aria-controls="x">Costs</button><div id="x" hidden>panel</div>';
    expect(await textOf(`<h1>H</h1>${hidden}${opened}<div hidden="until-found">found</div>`)).toBe(
      "# H\n\ntab\n\n## Costs\n\npanel\n\nfound",
    );
  });

  test("gives each definition of a term the term", async () => {
    const long = "A long definition of many words. ".repeat(7).trim();
    const list = `<dl><dt>Fee:</dt><dd>5 €</dd><dd>${long}</dd><dt>Alone</dt><dt>Is it free?</dt><dd>Yes.</dd><dd>For a year.</dd></dl>`;
    expect(await textOf(list)).toBe(`Fee: 5 €\n\nFee\n\n${long}\n\nAlone\n\n## Is it free?\n\nYes.\n\nFor a year.`);
  });

  test("does not repeat a long term for its further definitions", async () => {
    const term = "A term of many words. ".repeat(10).trim();
    expect(await textOf(`<dl><dt>${term}</dt><dd>5 €</dd><dd>8 €</dd></dl>`)).toBe(`${term}: 5 €\n\n8 €`);
  });

  test("puts the text of a tab above its panel, once", async () => {
    const tabs =
      '<ul role="tablist"><li><a role="tab" aria-controls="a" href="#a">Graz</a></li><li><a role="tab" id="b">Vienna</a></li>' +
      '<li><a role="tab" aria-controls="c">Linz</a></li><li><a role="tab" aria-controls="d">Wels</a></li></ul>';
    const panels =
      '<div role="tabpanel" id="a"><p>Open from 9.</p></div><div role="tabpanel" aria-labelledby="x b" hidden><p>Open from 8.</p></div>' +
      '<div role="tabpanel" id="c"><h3>Linz</h3><p>Open from 7.</p></div><div role="tabpanel" id="d"></div>' +
      '<div role="tab" aria-controls="e">Steyr</div><div role="tabpanel" id="e">Closed.</div>' +
      '<div role="tab" aria-controls="f">Enns</div><div role="tabpanel" id="f"></div>';
    expect(await textOf(`<h1>Shops</h1>${tabs}${panels}`)).toBe(
      "# Shops\n\n## Graz\n\nOpen from 9.\n\n## Vienna\n\nOpen from 8.\n\n### Linz\n\nOpen from 7.\n\n#### Steyr\n\nClosed.\n\nEnns",
    );
  });

  test("keeps the label of a checkbox that opens the block after it", async () => {
    const item = '<input type="checkbox" id="q1"><label for="q1"><h3>Dogs</h3></label><div>Yes, on a lead.</div>';
    const form = '<div><input type="checkbox" id="q2"><label for="q2">I agree</label></div><p>Read the terms.</p>';
    expect(await textOf(`<ul><li>${item}</li></ul>${form}`)).toBe("## Dogs\n\nYes, on a lead.\n\nRead the terms.");
  });

  test("takes no label for the title of a block that it does not open", async () => {
    const tabs = ["Monthly", "Yearly"].map((name) => `<input type="radio" id="${name}"><label for="${name}">${name}</label>`).join("");
    expect(await textOf(`${tabs}<div>9 € per month</div><div>90 € per year</div>`)).toBe("9 € per month\n\n90 € per year");
    const unnamed = '<input type="checkbox"><label>Send me news</label><p>Shipping is free.</p>';
    expect(await textOf(unnamed)).toBe("Send me news\n\nShipping is free.");
  });

  test("drops controls, and keeps buttons that are questions", async () => {
    const form =
      '<form><label for="q">Mail</label><input id="q" value="v"><select><option>One</select><textarea>t</textarea><button>Send</button></form>';
    expect(await textOf(`${form}<button>Is it free?</button><p>It is.</p><button>Buy</button>`)).toBe("## Is it free?\n\nIt is.");
  });

  test("reads a page that is one form", async () => {
    const text = "The text of a page of an old framework, which wraps all of it in one form. ".repeat(8).trim();
    expect(await textOf(`<form id="aspnetForm"><input type="hidden" value="x"><p>${text}</p></form>`)).toBe(text);
  });

  test("keeps descriptions of images, and no file names", async () => {
    const images = ["A red door", "IMG_2034", "logo", "door.png", ""].map((alt) => `<img src="i.png" alt="${alt}">`).join("");
    expect(await textOf(`<p>Knock at ${images}twice.</p>`)).toBe("Knock at A red door twice.");
  });

  test("keeps a chapter whose id is a word of boilerplate", async () => {
    const chapters = ["cookies", "newsletter", "share", "navigation", "comments"].map(
      (id) => `<section id="${id}"><h2 id="${id}-1">${id}</h2><p>About ${id}.</p></section>`,
    );
    expect(await textOf(`<main>${chapters.join("")}</main>`)).toContain("## newsletter\n\nAbout newsletter.");
    expect((await textOf(`<main>${chapters.join("")}</main>`)).match(/About/g)).toHaveLength(5);
  });

  test("keeps the main part's content whose class is a word of boilerplate, and drops its links and controls", async () => {
    const content = ["menu-item", "promo-code", "subscribe", "share", "energy-rating", "plan recommended"];
    const kept = content.map((name) => `<div class="${name}"><b>About</b> ${name} <a href="/more">more</a></div>`).join("");
    const dropped = content
      .map((name) => `<div class="${name}">See <a href="/x">this page</a> <button>Is it good?</button></div>`)
      .join("");
    const text = await textOf(`<main>${kept}${dropped}</main>`);
    expect(text.split("\n\n")).toEqual(content.map((name) => `About ${name} more`));
    expect(await textOf(`<p>${"The text of the page. ".repeat(9)}</p>${kept}`)).not.toContain("About");
  });

  test("prefers the main part, but not one that is empty", async () => {
    const text =
      "Here stands what the page has to say, at some length, so that there is no doubt about where its text is to be found. ".repeat(3);
    const beside = "<div><p>Beside it.</p></div>";
    expect(await textOf(`${beside}<main><p>${text}</p></main>`)).toBe(text.trim());
    expect(await textOf(`${beside}<main><div id="app"></div></main><div class="text"><p>${text}</p></div>`)).toContain(text.trim());
    expect(await textOf(`${beside}<div class="post"><div class="entry-content"><p>${text}</p></div></div>`)).toBe(text.trim());
  });

  test("falls back on the whole body when every part is marked as boilerplate", async () => {
    const text = "All of this stands in an element with an unhappy name, and yet it is the page's own text, which is to be read. "
      .repeat(3)
      .trim();
    expect(await textOf(`<div class="sidebar"><p>${text}</p></div>`)).toBe(text);
  });
});

describe("metadata of HTML", () => {
  const titled = async (head: string, body = "", url?: string): Promise<string> =>
    (await pageOf(`<html><head>${head}</head><body>${body}</body></html>`, url)).title;

  test("takes the title without the site's name", async () => {
    const url = "https://docs.acme.example/guide/first-steps.html";
    expect(await titled("<title>Refunds | Acme Docs</title>", "", url)).toBe("Refunds");
    expect(await titled("<title>Acme Help Center - Refunds - Billing</title>", "", url)).toBe("Refunds - Billing");
    expect(await titled('<meta property="og:site_name" content="Pear"><title>Refunds – Pear</title>', "", url)).toBe("Refunds");
    expect(await titled("<title>Node.js - the basics</title>", "", url)).toBe("Node.js - the basics");
    expect(await titled("<title>Acme</title>", "<h1>Refunds</h1>", url)).toBe("Refunds");
    expect(await titled("<title>Acme: Refunds &amp; more | Acme</title>", "<h1>Refunds &amp; more</h1>", url)).toContain("Refunds & more");
    expect(await titled("", "<p>x</p>", url)).toBe("First steps");
    expect(await titled("", "<p>x</p>", "https://acme.example/")).toBe("acme.example");
  });

  test("does not use the title of an SVG", async () => {
    expect(await titled("", "<svg><title>Logo</title></svg><h1>Refunds</h1>")).toBe("Refunds");
  });

  test("respects robots' directives for all crawlers and for ours", async () => {
    const directives = async (head: string, headers = {}) => {
      const { noindex, nofollow } = await pageOf(`<head>${head}</head><body><p>x`, undefined, headers);
      return [noindex, nofollow];
    };
    expect(await directives('<meta name="ROBOTS" content="NoIndex, follow">')).toEqual([true, false]);
    expect(await directives('<meta name="supportagentbot" content="none">')).toEqual([true, true]);
    expect(await directives('<meta name="googlebot" content="noindex">')).toEqual([false, false]);
    expect(await directives("", { "x-robots-tag": "noindex" })).toEqual([true, false]);
    expect(await directives("", { "x-robots-tag": "googlebot: noindex, SupportAgentBot: nofollow" })).toEqual([false, true]);
    expect(await directives("", { "x-robots-tag": "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex" })).toEqual([true, false]);
  });

  test("finds the canonical address in the page, in a header and in a refresh", async () => {
    const canonical = async (head: string, headers = {}) =>
      (await pageOf(`<head>${head}</head><body>x`, "https://a.example/b/c?d", headers)).canonicalUrl;
    expect(await canonical('<link rel="canonical" href="../e">')).toBe("https://a.example/e");
    expect(await canonical("", { link: '<https://a.example/f>; rel="canonical"' })).toBe("https://a.example/f");
    expect(await canonical('<meta http-equiv="refresh" content="0; url=/g">')).toBe("https://a.example/g");
    expect(await canonical('<link rel="canonical" href="javascript:alert(1)">')).toBeNull();
  });

  test("takes links by the base, each once, and none that lead nowhere", async () => {
    const hrefs = [
      "x",
      "/y?a=1&amp;b=2",
      "#z",
      "mailto:a@b.example",
      "tel:1",
      "javascript:void(0)",
      "data:text/html,x",
      "x",
      "ftp://f.example/",
      "http://[",
      "//other.example/o",
    ];
    const anchors = hrefs.map((href) => `<a href="${href}">l</a>`).join("");
    const { links } = await pageOf(`<base href="/base/"><a rel="nofollow noopener" href="n">n</a>${anchors}`, "https://a.example/p");
    expect(links).toEqual([
      { url: "https://a.example/base/n", nofollow: true },
      { url: "https://a.example/base/x", nofollow: false },
      { url: "https://a.example/y?a=1&b=2", nofollow: false },
      { url: "https://other.example/o", nofollow: false },
    ]);
  });

  test("adds the description to a page that says little, once", async () => {
    const page = (body: string) =>
      pageOf(`<head><meta name="description" content="We repair clocks of any kind in Leeds."></head><body>${body}`);
    expect((await page("<h1>Clocks</h1><p>Call us.</p>")).text).toBe("# Clocks\n\nWe repair clocks of any kind in Leeds.\n\nCall us.");
    expect((await page("<p>We repair clocks of any kind in Leeds. Call us.</p>")).text).toBe(
      "We repair clocks of any kind in Leeds. Call us.",
    );
  });
});
