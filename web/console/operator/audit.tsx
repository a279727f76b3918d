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
          ["Workspace", ({ workspace_id: id, workspace_name: name }) => <Named id={id} name={name} />],
          ["Record", ({ target_id: id, target_name: name }) => <Named id={id} name={name} />],
          ["Who", ({ actor }) => <code>{actor}</code>],
        ]}
        empty={
          operation ? (
            <Empty title="Nothing was found">Search for the whole name of an operation.</Empty>
          ) : (
            <Empty title="Nothing was recorded">Every change by an operator is listed here.</Empty>
          )
        }
      />
    </PageFrame>
  );
}

/** The name of a record with its id on hover, or the id of a record that is deleted. */
function Named({ id, name }: { id: string | null; name: string | null }) {
  if (id === null) return "–";
  return name === null ? <code>{id}</code> : <span title={id}>{name}</span>;
}
