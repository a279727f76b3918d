import { useState } from "preact/hooks";
import { ApiError } from "../../../client/index.ts";
import { InputError } from "../api.ts";
import { Link, Route, Switch } from "wouter-preact";
import { usePages } from "../lists.ts";
import { useQuery } from "../query.ts";
import { KeyList } from "../settings/key-list.tsx";
import { Button } from "../ui/button.tsx";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { FormEnd, Select, TextField } from "../ui/field.tsx";
import { useForm } from "../ui/form.ts";
import { PageFrame } from "../ui/page.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { formatNumber, labelOf, Time } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { operator, type Schemas } from "./api.ts";

type Workspace = Schemas["Workspace"];
type Limits = Schemas["Limits"];

const PLANS = (["free", "starter", "pro", "enterprise"] as const).map((plan) => [plan, plan] as const);

/** The workspaces of the deployment, with their plans, limits and keys. */
export function Workspaces() {
  return (
    <Switch>
      <Route path="/">
        <List />
      </Route>
      <Route path="/:id">{({ id }) => <WorkspacePage id={id} />}</Route>
    </Switch>
  );
}

function List() {
  const [isAdding, setAdding] = useState(false);
  const pages = usePages("workspaces", (page, options) => operator.listWorkspaces(page, options));
  return (
    <PageFrame
      title={pages.total === undefined ? "Workspaces" : `Workspaces (${formatNumber(pages.total)})`}
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          Create workspace
        </Button>
      }
    >
      <PagesTable
        pages={pages}
        label="Workspaces"
        columns={[
          ["Name", ({ id, name }) => <Link href={`/${id}`}>{name}</Link>],
          ["Slug", ({ slug }) => <code>{slug}</code>],
          ["Plan", ({ plan, limit_overrides: overrides }) => plan + (Object.keys(overrides).length > 0 ? ", own limits" : "")],
          ["Created", ({ created_at: at }) => <Time at={at} />],
        ]}
        empty={<Empty title="No workspaces yet">A workspace holds a customer’s agents, knowledge and conversations.</Empty>}
      />
      {isAdding && (
        <Dialog title="Create workspace" onClose={() => setAdding(false)}>
          <CreateForm
            onCreated={() => {
              setAdding(false);
              pages.first.reload();
            }}
          />
        </Dialog>
      )}
    </PageFrame>
  );
}

function CreateForm({ onCreated }: { onCreated: () => void }) {
  const form = useForm(async ({ text }) => {
    const body = { name: text("name"), slug: text("slug"), plan: text("plan") as Workspace["plan"] };
    await operator.createWorkspace({ body }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 409) throw new InputError(error.message, "slug");
      throw error;
    });
    showMessage("Created");
    onCreated();
  });
  return (
    <form class="stack" onSubmit={form.onSubmit}>
      <TextField label="Name" name="name" required maxLength={120} error={form.errorAt("name")} />
      <TextField
        label="Slug"
        name="slug"
        required
        error={form.errorAt("slug")}
        hint="Lower-case letters, digits and hyphens; it cannot be changed."
      />
      <Select label="Plan" name="plan" options={PLANS} value="free" />
      <FormEnd form={form}>Create workspace</FormEnd>
    </form>
  );
}

/** The plan of the workspace. It changes what the customer may use at once, so that the operator is asked first. */
function PlanCard({ workspace, save }: { workspace: Workspace; save: (body: Schemas["WorkspaceUpdate"]) => Promise<unknown> }) {
  const [wanted, setWanted] = useState<Workspace["plan"]>();
  const change = async (plan: Workspace["plan"]) => {
    await save({ plan });
    setWanted(undefined);
  };
  return (
    <section class="card">
      <h2>Plan</h2>
      <Select label="Plan" options={PLANS} value={wanted ?? workspace.plan} onChoose={setWanted} />
      <p class="quiet">
        Id <code>{workspace.id}</code>
      </p>
      {wanted !== undefined && wanted !== workspace.plan && (
        <Confirm
          title="Change the plan"
          confirm={`Change to ${wanted}`}
          onClose={() => setWanted(undefined)}
          onConfirm={() => change(wanted)}
        >
          <p>
            {workspace.name} changes from {workspace.plan} to {wanted}. The limits of the new plan apply at once, except for those that you
            have set yourself.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function WorkspacePage({ id }: { id: string }) {
  const query = useQuery(id, () => operator.getWorkspace({ workspace_id: id }));
  const keys = useQuery(id, async () => (await operator.listKeys({ workspace_id: id })).data);
  const save = (body: Schemas["WorkspaceUpdate"]) =>
    attempt(async () => query.set(await operator.updateWorkspace({ workspace_id: id, body })), "Saved");
  return (
    <PageFrame title={query.data?.name ?? "Workspace"}>
      <p>
        <Link href="/">All workspaces</Link>
      </p>
      <Loaded query={query}>
        {(workspace) => (
          <>
            <PlanCard workspace={workspace} save={save} />
            <LimitsCard key={JSON.stringify(workspace.limit_overrides)} workspace={workspace} save={save} />
            <KeyList
              query={keys}
              create={(body) => operator.createKey({ workspace_id: id, body: body as Schemas["KeyCreate"] })}
              revoke={(key_id) => operator.revokeKey({ workspace_id: id, key_id })}
            />
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

/** The limits of the workspace: those of its plan, unless the operator has set others. */
function LimitsCard({
  workspace: { limits, limit_overrides: overrides },
  save,
}: {
  workspace: Workspace;
  save: (body: Schemas["WorkspaceUpdate"]) => Promise<unknown>;
}) {
  const names = (Object.keys(limits) as (keyof Limits)[]).filter((name) => typeof limits[name] === "number");
  const { isBusy, onSubmit } = useForm(({ text }) => {
    const wanted = names.map((name) => [name, text(name) === "" ? null : Number(text(name))]);
    return save({ limits: Object.fromEntries(wanted) });
  });
  return (
    <form class="card" onSubmit={onSubmit}>
      <h2>Limits</h2>
      <p class="quiet">The limit of the plan applies to a field that is empty.</p>
      <div class="cards">
        {names.map((name) => (
          <TextField
            key={name}
            label={labelOf(name)}
            name={name}
            type="number"
            min={0}
            defaultValue={overrides[name] === undefined ? "" : String(overrides[name])}
            placeholder={formatNumber(limits[name] as number)}
          />
        ))}
      </div>
      <div class="actions">
        <Button variant="primary" type="submit" isBusy={isBusy}>
          Save limits
        </Button>
      </div>
    </form>
  );
}
