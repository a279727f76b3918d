import { useState } from "preact/hooks";
import type { Query } from "../query.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { InputError } from "../api.ts";
import { Checkbox, FieldError, FormEnd, TextField } from "../ui/field.tsx";
import { SecretDialog } from "../ui/secret.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/format.tsx";
import { attempt } from "../ui/toast.tsx";
import { useForm } from "../ui/form.ts";

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
  /** The scopes that a new key may get; by default all. */
  grantable?: readonly string[];
  create: (body: { name: string; scopes: string[] }) => Promise<{ key: string }>;
  revoke: (id: string) => Promise<unknown>;
}

/** Lists, creates and revokes API keys. */
export function KeyList({ query, grantable = ["*"], create, revoke }: Props) {
  const [isAdding, setAdding] = useState(false);
  const [key, setKey] = useState<string>();
  const [revoking, setRevoking] = useState<ListedKey>();
  const confirmRevoke = async (id: string) => {
    if (await attempt(() => revoke(id), "Revoked")) query.reload();
    setRevoking(undefined);
  };
  const revokeCell = (listed: ListedKey) =>
    listed.revoked_at ? (
      <span class="quiet">Revoked</span>
    ) : (
      <Button variant="quiet" onClick={() => setRevoking(listed)}>
        Revoke
      </Button>
    );
  return (
    <section class="card">
      <div class="card-top">
        <h2>API keys</h2>
        <Button onClick={() => setAdding(true)}>Create key</Button>
      </div>
      <Loaded query={query} rows={3}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="No keys yet">A key lets a backend use the API.</Empty>
          ) : (
            <Table
              label="API keys"
              rows={keys}
              keyOf={({ id }) => id}
              columns={[
                ["Name", ({ name }) => name],
                ["Prefix", ({ prefix }) => <code>{prefix}…</code>],
                ["Scopes", ({ scopes }) => <div class="wrap">{scopes.join(", ")}</div>],
                ["Created", ({ created_at: at }) => <Time at={at} />],
                ["Actions", revokeCell, "action"],
              ]}
            />
          )
        }
      </Loaded>
      {isAdding && (
        <Dialog title="Create key" onClose={() => setAdding(false)}>
          <KeyForm
            grantable={grantable}
            onSubmit={async (body) => {
              setKey((await create(body)).key);
              setAdding(false);
              query.reload();
            }}
          />
        </Dialog>
      )}
      {key !== undefined && <SecretDialog title="API key" secret={key} onClose={() => setKey(undefined)} />}
      {revoking && (
        <Confirm
          title={`Revoke “${revoking.name}”`}
          confirm="Revoke"
          isDanger
          onClose={() => setRevoking(undefined)}
          onConfirm={() => confirmRevoke(revoking.id)}
        >
          <p>Requests with this key are refused from now on. This cannot be undone.</p>
        </Confirm>
      )}
    </section>
  );
}

interface FormProps {
  grantable: readonly string[];
  onSubmit: (body: { name: string; scopes: string[] }) => Promise<void>;
}

function KeyForm({ grantable, onSubmit }: FormProps) {
  const form = useForm(({ text, all }) => {
    if (all("scopes").length === 0) throw new InputError("Choose at least one scope.", "scopes");
    return onSubmit({ name: text("name"), scopes: all("scopes") });
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={120}
        error={form.errorAt("name")}
        hint="The program that uses it, such as “Shop backend”."
      />
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
        <FieldError text={form.errorAt("scopes")} />
      </fieldset>
      <FormEnd form={form}>Create key</FormEnd>
    </form>
  );
}
