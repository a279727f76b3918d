import { useState } from "preact/hooks";
import { errorText } from "../api.ts";
import type { Query } from "../query.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Checkbox, TextField } from "../ui/field.tsx";
import { Secret } from "../ui/secret.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { readForm } from "../ui/form.ts";

interface ListedKey {
  id: string;
  name: string;
  prefix: string;
  scopes: string[];
  created_at: string;
  revoked_at: string | null;
}

interface Props {
  query: Omit<Query<ListedKey[]>, "set">;
  /** The scopes that a new key may get; without it, all. */
  grantable?: readonly string[];
  create: (body: { name: string; scopes: string[] }) => Promise<{ key: string }>;
  revoke: (id: string) => Promise<unknown>;
  onChanged: () => void;
}

/** API keys: made, shown once, revoked. */
export function KeyList({ query, grantable, create, revoke, onChanged }: Props) {
  const [isAdding, setAdding] = useState(false);
  const [key, setKey] = useState<string>();
  const [revoking, setRevoking] = useState<ListedKey>();
  const confirmRevoke = async (id: string) => {
    if (await attempt(() => revoke(id), "Revoked")) onChanged();
    setRevoking(undefined);
  };
  return (
    <section class="card" aria-label="API keys">
      <div class="card-top">
        <h2>API keys</h2>
        <Button onClick={() => setAdding(true)}>Create key</Button>
      </div>
      <Loaded query={query} rows={3}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No keys yet">A key lets a backend use the API.</Empty>
          ) : (
            <Table keys={keys} onRevoke={setRevoking} />
          )
        }
      </Loaded>
      {isAdding && (
        <Dialog title="Create key" onClose={() => setAdding(false)}>
          <KeyForm
            grantable={grantable ?? ["*"]}
            onSubmit={async (body) => {
              setKey((await create(body)).key);
              setAdding(false);
              onChanged();
            }}
          />
        </Dialog>
      )}
      {key !== undefined && (
        <Dialog title="API key" onClose={() => setKey(undefined)}>
          <p>It is shown this once: keep it where you keep secrets.</p>
          <Secret value={key} />
          <div class="actions">
            <Button variant="primary" onClick={() => setKey(undefined)}>
              I have kept it
            </Button>
          </div>
        </Dialog>
      )}
      {revoking && (
        <Confirm
          title={`Revoke “${revoking.name}”`}
          confirm="Revoke"
          isDanger
          onClose={() => setRevoking(undefined)}
          onConfirm={() => void confirmRevoke(revoking.id)}
        >
          <p>Whatever uses this key is refused from the next request on. This cannot be taken back.</p>
        </Confirm>
      )}
    </section>
  );
}

function Table({ keys, onRevoke }: { keys: ListedKey[]; onRevoke: (key: ListedKey) => void }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="API keys">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Begins with</th>
            <th scope="col">Scopes</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span class="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>{key.name}</td>
              <td>
                <code>{key.prefix}…</code>
              </td>
              <td class="wrap">{key.scopes.join(", ")}</td>
              <td>
                <Time at={key.created_at} />
              </td>
              <td>
                {key.revoked_at ? (
                  <span class="quiet">Revoked</span>
                ) : (
                  <Button variant="quiet" onClick={() => onRevoke(key)}>
                    Revoke
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function KeyForm({
  grantable,
  onSubmit,
}: {
  grantable: readonly string[];
  onSubmit: (body: { name: string; scopes: string[] }) => Promise<void>;
}) {
  const [error, setError] = useState<string>();
  const submit = async (event: SubmitEvent) => {
    const text = readForm(event);
    const data = new FormData(event.currentTarget as HTMLFormElement);
    try {
      await onSubmit({ name: text("name"), scopes: data.getAll("scopes") as string[] });
    } catch (failure) {
      setError(errorText(failure));
    }
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      <TextField label="Name" name="name" required maxLength={120} error={error} hint="What uses it, such as “Shop backend”." />
      <fieldset>
        <legend>Scopes</legend>
        {grantable.map((scope) => (
          <Checkbox
            key={scope}
            name="scopes"
            value={scope}
            label={scope === "*" ? "All scopes" : <code>{scope}</code>}
            defaultChecked={grantable.length === 1}
          />
        ))}
      </fieldset>
      <Button variant="primary" type="submit">
        Create key
      </Button>
    </form>
  );
}
