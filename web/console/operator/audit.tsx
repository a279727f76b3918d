import { useState } from "preact/hooks";
import { usePages } from "../lists.ts";
import { PageFrame, SearchField } from "../ui/page.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { Time } from "../ui/format.tsx";
import { operator } from "./api.ts";

/** The audit log of the operator API. */
export function Audit() {
  const [operation, setOperation] = useState("");
  const pages = usePages(operation, (page, options) => operator.listAudit({ operation: operation || undefined, ...page }, options));
  return (
    <PageFrame title="Audit log" actions={<SearchField label="Operation, such as revokeKey" onSearch={setOperation} />}>
      <PagesTable
        pages={pages}
        label="Audit log"
        columns={[
          ["When", ({ created_at: at }) => <Time at={at} />],
          ["Operation", ({ operation: name }) => <code>{name}</code>],
          ["Fields", ({ fields }) => fields.join(", ") || "–"],
          ["Workspace", ({ workspace_id: id }) => (id ? <code>{id}</code> : "–")],
          ["Record", ({ target_id: id }) => (id ? <code>{id}</code> : "–")],
          ["Who", ({ actor }) => <code>{actor}</code>],
        ]}
        empty={<Empty title="Nothing was recorded">Every change by an operator is listed here.</Empty>}
      />
    </PageFrame>
  );
}
