import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { ExternalLink } from "../../shared/markdown.tsx";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { concerns } from "../live.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/dialog.tsx";
import { Select } from "../ui/field.tsx";
import { PagesCards, PagesTable } from "../ui/pages.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { countOf, Time } from "../ui/format.tsx";
import { attempt } from "../ui/toast.tsx";
import { Progress, SOURCE_STATUS } from "./sources.tsx";

type CrawledPage = Schemas["CrawledPage"];

/** The state of a source and, for a website, of each of its pages. */
export function SourcePage({ agentId, sourceId }: { agentId: string; sourceId: string }) {
  const [isDeleting, setDeleting] = useState(false);
  const [, navigate] = useLocation();
  const ids = { agent_id: agentId, source_id: sourceId };
  const query = useQuery(sourceId, (signal) => api.getSource(ids, { signal }), concerns("source", sourceId));
  const sync = () =>
    attempt(
      async () => query.set(await api.syncSource(ids)),
      "The source is being read again; until then the agent uses what was read before",
    );
  const remove = async () => {
    if (await attempt(() => api.deleteSource(ids), "Deleted")) navigate("/");
  };
  return (
    <Loaded query={query}>
      {(source) => (
        <>
          <p>
            <Link href="/">All sources</Link>
          </p>
          <section class="card">
            <div class="card-top">
              <h2>{source.name}</h2>
              <span class={`status ${source.status}`}>{SOURCE_STATUS[source.status]}</span>
            </div>
            <p class="quiet">
              {source.url ?? source.type}
              {source.last_synced_at && (
                <>
                  {" · read "}
                  <Time at={source.last_synced_at} />
                </>
              )}
              {` · ${countOf(source.chunks_count, "passage")}`}
            </p>
            <Progress source={source} />
            {source.error && <p class="field-error">{source.error.message}</p>}
            {hasScope("knowledge:write") && (
              <div class="actions">
                <Button onClick={() => void sync()} disabled={source.status === "processing" || source.status === "pending"}>
                  Read again
                </Button>
                <Button variant="danger" onClick={() => setDeleting(true)}>
                  Delete
                </Button>
              </div>
            )}
          </section>
          {source.type === "website" && <CrawledPages ids={ids} version={source.updated_at} />}
          <Passages ids={ids} version={source.updated_at} />
          {isDeleting && (
            <DeleteDialog title={`Delete “${source.name}”`} onClose={() => setDeleting(false)} onDelete={remove}>
              <p>The agent no longer answers from it. This cannot be undone.</p>
            </DeleteDialog>
          )}
        </>
      )}
    </Loaded>
  );
}

interface ListProps {
  ids: { agent_id: string; source_id: string };
  /** The list is read again when it changes. */
  version: string;
}

/** The text of a source, in the passages that the agent finds. */
function Passages({ ids, version }: ListProps) {
  const pages = usePages(`${ids.source_id} ${version}`, async (page, options) => {
    const passages = await api.listSourcePassages({ ...ids, ...page }, options);
    return { ...passages, data: passages.data.map((one, at) => ({ ...one, id: String(passages.offset + at) })) };
  });
  return (
    <section class="stack" aria-label="Text">
      <h2>What the agent read</h2>
      <PagesCards
        pages={pages}
        card={({ title, heading, url, content }) => (
          <>
            <p class="quiet">{url === null ? (heading ?? title) : <ExternalLink href={url}>{heading ?? title}</ExternalLink>}</p>
            <p class="plain">{content}</p>
          </>
        )}
        empty={<Empty title="No text yet">The text appears here when the source has been read.</Empty>}
      />
    </section>
  );
}

const PAGE_STATUSES = [
  ["", "All pages"],
  ["indexed", "Read"],
  ["failed", "Failed"],
  ["skipped", "Skipped"],
  ["waiting", "Waiting"],
] as const;

function CrawledPages({ ids, version }: ListProps) {
  const [status, setStatus] = useState<"" | CrawledPage["status"]>("");
  const pages = usePages(`${ids.source_id} ${status} ${version}`, async (page, options) => {
    const crawled = await api.listSourcePages({ ...ids, status: status || undefined, ...page }, options);
    return { ...crawled, data: crawled.data.map((one) => ({ ...one, id: one.url })) };
  });
  return (
    <section class="stack" aria-label="Pages">
      <div class="card-top">
        <h2>Pages</h2>
        <Select label="Show" hideLabel options={PAGE_STATUSES} value={status} onChoose={setStatus} />
      </div>
      <PagesTable
        pages={pages}
        label="Pages"
        columns={[
          ["Page", ({ url, title }) => <ExternalLink href={url}>{title ?? url}</ExternalLink>],
          [
            "State",
            ({ status: own }) => <span class={`status ${own === "indexed" ? "ready" : own}`}>{own === "indexed" ? "read" : own}</span>,
          ],
          ["Reason", ({ reason }) => (reason === null ? "–" : crawlReason(reason))],
          ["In use", ({ in_use: inUse }) => (inUse ? "Yes" : "No")],
        ]}
        empty={<Empty title="No pages">Pages appear here as they are found.</Empty>}
      />
    </section>
  );
}

const CRAWL_REASONS: Record<string, string> = {
  robots: "The site’s robots.txt does not allow it",
  noindex: "The page asks not to be indexed",
  timeout: "The site did not answer in time",
  bad_redirect: "It redirects to an address that cannot be read",
  redirect_loop: "Its redirects go in a circle",
  too_many_redirects: "It redirects too often",
  not_readable: "It has no text that can be read",
};

const HTTP = "http_";

/** Says in words why a page was not read. */
function crawlReason(reason: string): string {
  if (reason === "http_404" || reason === "http_410") return "The page does not exist";
  if (reason.startsWith(HTTP)) return `The site answered with the status ${reason.slice(HTTP.length)}`;
  return CRAWL_REASONS[reason] ?? reason.replaceAll("_", " ");
}
