import { useState } from "preact/hooks";
import { useQuery } from "../query.ts";
import { KeyList } from "../settings/key-list.tsx";
import { operator, type Schemas } from "./api.ts";

/** The keys of a workspace, as the operator makes and revokes them. */
export function Keys({ workspaceId }: { workspaceId: string }) {
  const workspace_id = workspaceId;
  const [version, setVersion] = useState(0);
  const query = useQuery(`${workspaceId} ${version}`, async () => (await operator.listKeys({ workspace_id })).data);
  return (
    <KeyList
      query={query}
      create={(body) => operator.createKey({ workspace_id, body: body as Schemas["KeyCreate"] })}
      revoke={(key_id) => operator.revokeKey({ workspace_id, key_id })}
      onChanged={() => setVersion(version + 1)}
    />
  );
}
