import { useState } from "preact/hooks";
import { request } from "../api.ts";
import { useQuery } from "../query.ts";
import { KeyList, type ListedKey } from "../settings/key-list.tsx";

/** The keys of a workspace, as the operator makes and revokes them. */
export function Keys({ workspaceId }: { workspaceId: string }) {
  const path = `/operator/v1/workspaces/${encodeURIComponent(workspaceId)}/keys`;
  const [version, setVersion] = useState(0);
  const query = useQuery(`${workspaceId} ${version}`, async () => (await request<{ data: ListedKey[] }>("GET", `${path}?limit=100`)).data);
  return (
    <KeyList
      query={query}
      create={(body) => request("POST", path, body)}
      revoke={(id) => request("DELETE", `${path}/${id}`)}
      onChanged={() => setVersion(version + 1)}
    />
  );
}
