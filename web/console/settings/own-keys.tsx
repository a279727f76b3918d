import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { session } from "../session.ts";
import { KeyList } from "./key-list.tsx";

/** The workspace's keys. A new one gets at most the scopes of the key that is signed in. */
export function OwnKeys() {
  const [version, setVersion] = useState(0);
  const query = useQuery(String(version), async (signal) => (await api.listKeys({ limit: 100 }, { signal })).data);
  const own = session.value?.kind === "workspace" ? session.value.key.scopes : [];
  return (
    <KeyList
      query={query}
      grantable={own}
      create={(body) => api.createKey({ body: body as Parameters<typeof api.createKey>[0]["body"] })}
      revoke={(key_id) => api.revokeKey({ key_id })}
      onChanged={() => setVersion(version + 1)}
    />
  );
}
