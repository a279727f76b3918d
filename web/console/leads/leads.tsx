import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, downloadCsv } from "../api.ts";
import { usePages } from "../lists.ts";
import { Button } from "../ui/button.tsx";
import { PageFrame, saveFile, SearchField } from "../ui/page.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { formatNumber, Time } from "../ui/format.tsx";
import { attempt } from "../ui/toast.tsx";
import { leadSearch } from "./lead-search.ts";

/** The contact details that visitors left. */
export function Leads() {
  const [q, setQ] = useState("");
  useEffect(() => {
    if (leadSearch.value === "") return;
    setQ(leadSearch.value);
    leadSearch.value = "";
  }, [leadSearch.value]);
  const [isExporting, setExporting] = useState(false);
  const leads = usePages(
    q,
    (page, options) => api.listLeads({ q: q || undefined, ...page }, options),
    ({ kind }) => kind === "lead",
  );
  const exportAll = async () => {
    setExporting(true);
    await attempt(async () => saveFile("leads.csv", await downloadCsv("/api/v1/leads", q ? { q } : {})));
    setExporting(false);
  };
  return (
    <PageFrame
      title={leads.total === undefined ? "Leads" : `Leads (${formatNumber(leads.total)})`}
      actions={
        <>
          <SearchField label="Search leads" q={q} onSearch={setQ} />
          <Button isBusy={isExporting} disabled={leads.items.length === 0} onClick={() => void exportAll()}>
            Export CSV
          </Button>
        </>
      }
    >
      <PagesTable
        pages={leads}
        label="Leads"
        columns={[
          ["Name", ({ name }) => name ?? "–"],
          ["Email", ({ email }) => (email ? <a href={`mailto:${encodeURIComponent(email)}`}>{email}</a> : "–")],
          ["Phone", ({ phone }) => phone ?? "–"],
          ["Message", ({ message }) => <span class="clamp">{message ?? "–"}</span>],
          ["Received", ({ created_at: at }) => <Time at={at} />],
          [
            "Conversation",
            ({ conversation_id: id }) =>
              id ? (
                <Link href={`~/inbox/${id}`} aria-label="Open the conversation">
                  Open
                </Link>
              ) : (
                "–"
              ),
          ],
        ]}
        empty={
          q ? (
            <Empty title="No lead was found">No lead has “{q}” in its name, address or message.</Empty>
          ) : (
            <Empty title="No leads yet">Contact details that visitors leave in a form or in a conversation appear here.</Empty>
          )
        }
      />
    </PageFrame>
  );
}
