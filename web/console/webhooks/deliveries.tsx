import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { useQuery } from "../query.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Select } from "../ui/field.tsx";
import { PagesTable } from "../ui/pages.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Time } from "../ui/format.tsx";
import { attempt } from "../ui/toast.tsx";

type Delivery = Schemas["Delivery"];

const STATUSES = [
  ["", "All"],
  ["pending", "Pending"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
] as const;

/** @param version the list is read again when it changes. */
export function Deliveries({ webhook, version }: { webhook: Schemas["Webhook"]; version: number }) {
  const [status, setStatus] = useState<"" | Delivery["status"]>("");
  const [shown, setShown] = useState<Delivery>();
  const pages = usePages(`${webhook.id} ${status} ${version}`, (page, options) =>
    api.listDeliveries({ webhook_id: webhook.id, status: status || undefined, ...page }, options),
  );
  return (
    <section class="stack" aria-label="Deliveries">
      <div class="card-top">
        <h2>Deliveries</h2>
        <div class="actions">
          <Select label="Status" hideLabel options={STATUSES} value={status} onChoose={setStatus} />
          <Button onClick={pages.first.reload}>Refresh</Button>
        </div>
      </div>
      <PagesTable
        pages={pages}
        label="Deliveries"
        columns={[
          ["Event", ({ event_type: type }) => <code>{type}</code>],
          ["Status", ({ status: own }) => <span class={`status ${own === "succeeded" ? "ready" : own}`}>{own}</span>],
          ["Answer", ({ attempts }) => answerOf(attempts.at(-1))],
          ["Attempts", ({ attempt_count: count }) => count, "number"],
          ["Created", ({ created_at: at }) => <Time at={at} />],
          [
            "Actions",
            (delivery) => (
              <Button variant="quiet" onClick={() => setShown(delivery)}>
                Details
              </Button>
            ),
            "action",
          ],
        ]}
        empty={<Empty title="No deliveries">Events appear here as they are sent. Send a test event to try the endpoint.</Empty>}
      />
      {shown && (
        <DeliveryDialog
          delivery={shown}
          isEnabled={webhook.enabled}
          onClose={() => setShown(undefined)}
          onRedelivered={pages.first.reload}
        />
      )}
    </section>
  );
}

function answerOf(attempt: Schemas["DeliveryAttempt"] | undefined): string {
  if (!attempt) return "–";
  return attempt.response_status === null ? (attempt.error ?? "–").replaceAll("_", " ") : `HTTP ${attempt.response_status}`;
}

/** Says why a delivery cannot be sent again; undefined if it can. */
function obstacleOf({ status, trigger }: Delivery, isEnabled: boolean): string | undefined {
  if (trigger === "test") return "A test is not sent again: send a new one with “Send a test event”.";
  if (status === "pending") return "It is still being sent, and is tried again by itself.";
  return isEnabled ? undefined : "The endpoint is off: switch it on to send the event again.";
}

interface DeliveryProps {
  delivery: Delivery;
  /** Whether the endpoint is enabled. */
  isEnabled: boolean;
  onClose: () => void;
  onRedelivered: () => void;
}

/** The request of a delivery, which is read when it is opened. */
function Request({ deliveryId }: { deliveryId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Request</summary>
      {isOpen && <RequestText deliveryId={deliveryId} />}
    </details>
  );
}

function RequestText({ deliveryId }: { deliveryId: string }) {
  const query = useQuery(deliveryId, (signal) => api.getDeliveryRequest({ delivery_id: deliveryId }, { signal }));
  return (
    <Loaded query={query}>
      {({ headers, body }) => (
        <pre tabIndex={0}>
          {Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join("\n")}
          {"\n\n"}
          {body === null ? "The event is too old: its body is no longer kept." : indented(body)}
        </pre>
      )}
    </Loaded>
  );
}

function indented(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}

function DeliveryDialog({ delivery, isEnabled, onClose, onRedelivered }: DeliveryProps) {
  const obstacle = obstacleOf(delivery, isEnabled);
  const redeliver = async () => {
    if (!(await attempt(() => api.redeliverEvent({ delivery_id: delivery.id }), "The event is sent again"))) return;
    onRedelivered();
    onClose();
  };
  return (
    <Dialog title={delivery.event_type} onClose={onClose}>
      <p class="quiet">
        Event <code>{delivery.event_id}</code>
        {delivery.next_attempt_at && (
          <>
            {" · next attempt "}
            <Time at={delivery.next_attempt_at} isPlanned />
          </>
        )}
      </p>
      <Request deliveryId={delivery.id} />
      {delivery.attempts.length === 0 && <p>There has been no attempt yet.</p>}
      {delivery.attempts.map((attempt) => (
        <section key={attempt.number} class="stack">
          <h3>
            Attempt {attempt.number}: {answerOf(attempt)} after {attempt.duration_ms} ms, <Time at={attempt.started_at} />
          </h3>
          {attempt.response_body !== null && attempt.response_body !== "" && <pre tabIndex={0}>{attempt.response_body}</pre>}
        </section>
      ))}
      {hasScope("webhooks:write") && (
        <div class="actions">
          {obstacle ? <p class="quiet">{obstacle}</p> : <Button onClick={() => void redeliver()}>Send again</Button>}
        </div>
      )}
    </Dialog>
  );
}
