import { useState } from "preact/hooks";
import { Link, Route, Switch, useLocation } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { type Query, useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Confirm, DeleteDialog, Dialog } from "../ui/dialog.tsx";
import { PageFrame } from "../ui/page.tsx";
import { SecretDialog } from "../ui/secret.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Time } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";
import { Deliveries } from "./deliveries.tsx";
import { EndpointForm } from "./endpoint-form.tsx";

type Webhook = Schemas["Webhook"];

/** The webhook endpoints of the workspace, and their deliveries. */
export function Webhooks() {
  const list = useQuery("webhooks", (signal) => api.listWebhooks({}, { signal }));
  return (
    <Switch>
      <Route path="/">
        <List list={list} />
      </Route>
      <Route path="/:id">{({ id }) => <Endpoint id={id} list={list} />}</Route>
    </Switch>
  );
}

function List({ list }: { list: Query<Schemas["WebhookList"]> }) {
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<string>();
  const add = hasScope("webhooks:write") && (
    <Button variant="primary" onClick={() => setAdding(true)}>
      Add endpoint
    </Button>
  );
  return (
    <PageFrame title="Webhooks" actions={add}>
      <Loaded query={list}>
        {({ data, event_types: types }) => (
          <>
            {data.length === 0 ? (
              <Empty title="No endpoints yet">
                An endpoint gets signed events as they happen: a hand-off, a lead, a resolved conversation.
              </Empty>
            ) : (
              <ul class="stack">
                {data.map((webhook) => (
                  <EndpointCard key={webhook.id} webhook={webhook} />
                ))}
              </ul>
            )}
            {isAdding && (
              <Dialog title="Add endpoint" onClose={() => setAdding(false)}>
                <EndpointForm
                  types={types}
                  submit="Add endpoint"
                  onSubmit={async (body) => {
                    const created = await api.createWebhook({ body });
                    setAdding(false);
                    setSecret(created.secret);
                    list.reload();
                  }}
                />
              </Dialog>
            )}
            {secret !== undefined && <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />}
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

function EndpointCard({ webhook }: { webhook: Webhook }) {
  const { id, url, events, description, last_success_at: success, last_skipped_at: skipped } = webhook;
  return (
    <li class="card">
      <div class="card-top">
        <Link href={`/${id}`}>
          <code>{url}</code>
        </Link>
        <State webhook={webhook} />
      </div>
      <p class="quiet">
        {description ? `${description} · ` : ""}
        {events.includes("*") ? "All events" : events.join(", ")}
        {success && (
          <>
            {" · last success "}
            <Time at={success} />
          </>
        )}
        {skipped && (
          <>
            {" · an event was not delivered, since the day's deliveries were used up: "}
            <Time at={skipped} />
          </>
        )}
      </p>
    </li>
  );
}

function State({ webhook: { enabled, disabled_reason: reason, failure_streak: failures } }: { webhook: Webhook }) {
  const why: Record<string, string> = { failing: "Off: it kept failing", gone: "Off: it answered 410 Gone", manual: "Off" };
  if (!enabled) return <span class="status failed">{why[reason ?? "manual"] ?? "Off"}</span>;
  return failures > 0 ? <span class="status failed">{failures} failures in a row</span> : <span class="status ready">On</span>;
}

function SigningSecret(props: { secret: string; onClose: () => void }) {
  return (
    <SecretDialog title="Signing secret" {...props}>
      Your receiver verifies the signature of each event with this secret.
    </SecretDialog>
  );
}

function Endpoint({ id, list }: { id: string; list: Query<Schemas["WebhookList"]> }) {
  return (
    <Loaded query={list}>
      {({ data, event_types: types }) => {
        const webhook = data.find((one) => one.id === id);
        return webhook ? (
          <EndpointPage webhook={webhook} types={types} reload={list.reload} />
        ) : (
          <Empty title="There is no such endpoint" action={<Link href="/">All endpoints</Link>} />
        );
      }}
    </Loaded>
  );
}

function EndpointPage({ webhook, types, reload }: { webhook: Webhook; types: Schemas["WebhookEventType"][]; reload: () => void }) {
  const [open, setOpen] = useState<"edit" | "delete" | "rotate" | undefined>();
  const [secret, setSecret] = useState<string>();
  const [sent, setSent] = useState(0);
  const [, navigate] = useLocation();
  const { id: webhook_id } = webhook;
  const act = async (action: () => Promise<unknown>, done: string) => {
    if (!(await attempt(action, done))) return;
    reload();
    setOpen(undefined);
  };
  const test = () =>
    act(async () => {
      await api.testWebhook({ webhook_id });
      setSent((count) => count + 1);
    }, "A test event was sent");
  return (
    <PageFrame
      title="Endpoint"
      actions={
        hasScope("webhooks:write") && (
          <div class="actions">
            <Button onClick={() => void test()}>Send a test event</Button>
            <Button onClick={() => setOpen("edit")}>Edit</Button>
            <Button
              onClick={() =>
                void act(
                  () => api.updateWebhook({ webhook_id, body: { enabled: !webhook.enabled } }),
                  webhook.enabled ? "Switched off" : "Switched on",
                )
              }
            >
              {webhook.enabled ? "Switch off" : "Switch on"}
            </Button>
            <Button onClick={() => setOpen("rotate")}>New secret</Button>
            <Button variant="danger" onClick={() => setOpen("delete")}>
              Delete
            </Button>
          </div>
        )
      }
    >
      <p>
        <Link href="/">All endpoints</Link>
      </p>
      <ul>
        <EndpointCard webhook={webhook} />
      </ul>
      <Deliveries webhook={webhook} version={sent} />
      {open === "edit" && (
        <Dialog title="Edit endpoint" onClose={() => setOpen(undefined)}>
          <EndpointForm
            types={types}
            webhook={webhook}
            submit="Save"
            onSubmit={async (body) => {
              await api.updateWebhook({ webhook_id, body });
              showMessage("Saved");
              reload();
              setOpen(undefined);
            }}
          />
        </Dialog>
      )}
      {open === "rotate" && (
        <Confirm
          title="Make a new signing secret"
          confirm="Make a new secret"
          onClose={() => setOpen(undefined)}
          onConfirm={() => act(async () => setSecret((await api.rotateWebhookSecret({ webhook_id })).secret), "There is a new secret")}
        >
          <p>Events are signed with both secrets for a day, so that no event is refused meanwhile.</p>
        </Confirm>
      )}
      {open === "delete" && (
        <DeleteDialog
          title="Delete this endpoint"
          onClose={() => setOpen(undefined)}
          onDelete={() =>
            act(async () => {
              await api.deleteWebhook({ webhook_id });
              navigate("/");
            }, "Deleted")
          }
        >
          <p>It gets no more events, and its deliveries are no longer listed.</p>
        </DeleteDialog>
      )}
      {secret !== undefined && <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />}
    </PageFrame>
  );
}
