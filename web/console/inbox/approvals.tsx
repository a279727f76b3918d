import { useState } from "preact/hooks";
import { api, type Schemas } from "../api.ts";
import { useShortcuts } from "../keyboard.ts";
import { concerns } from "../live.ts";
import { useQuery } from "../query.ts";
import { author, hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FieldError, TextArea } from "../ui/field.tsx";
import { parseObject, useForm } from "../ui/form.ts";
import { labelOf } from "../ui/format.tsx";
import { attempt, showMessage } from "../ui/toast.tsx";

type Approval = Schemas["Approval"];

/** The tool calls of a conversation that wait for the team. */
export function Approvals({ conversationId }: { conversationId: string }) {
  const { data, reload } = useQuery(
    conversationId,
    (signal) => api.listApprovals({ conversation_id: conversationId, status: "pending", limit: 10 }, { signal }),
    concerns("conversation", conversationId),
  );
  // The oldest is decided first.
  const [first, ...others] = (data?.data ?? []).toReversed();
  if (!first) return null;
  return <Card key={first.id} approval={first} waiting={others.length} onDecided={reload} />;
}

interface CardProps {
  approval: Approval;
  /** How many more calls of the conversation wait. */
  waiting: number;
  onDecided: () => void;
}

function Card({ approval, waiting, onDecided }: CardProps) {
  const [open, setOpen] = useState<"decline" | "edit">();
  const { id, tool, arguments: given, expires_at: expiresAt } = approval;
  const mayDecide = hasScope("conversations:write");
  const close = () => setOpen(undefined);
  const done = (text: string) => {
    close();
    showMessage(text);
    onDecided();
  };
  const approve = async (changed?: Record<string, unknown>) => {
    await api.approveToolCall({ approval_id: id, body: { ...(changed && { arguments: changed }), author: author() } });
    done("Approved. The agent goes on");
  };
  const decline = async (reason: string) => {
    await api.declineToolCall({ approval_id: id, body: { reason, author: author() } });
    done("Declined. The agent tells the visitor");
  };
  useShortcuts(mayDecide ? { a: () => void attempt(() => approve()), x: () => setOpen("decline") } : {});
  return (
    <section class="approval" aria-label="Approval">
      <p>
        <strong>The agent asks to call</strong> <code>{tool}</code>
      </p>
      <Arguments of={given} />
      <p class="quiet">
        Expires on {new Date(expiresAt).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}
        {waiting > 0 && `. ${waiting} more after it`}
      </p>
      {mayDecide && (
        <div class="actions">
          <Button variant="quiet" onClick={() => setOpen("edit")}>
            Change
          </Button>
          <Button onClick={() => setOpen("decline")} title="Decline (x)">
            Decline
          </Button>
          <Button variant="primary" onClick={() => void attempt(() => approve())} title="Approve (a)">
            Approve
          </Button>
        </div>
      )}
      {open === "decline" && <Decline tool={tool} onDecline={decline} onClose={close} />}
      {open === "edit" && <Edit tool={tool} given={given} onApprove={approve} onClose={close} />}
    </section>
  );
}

/** The arguments of a call in words. */
function Arguments({ of }: { of: Record<string, unknown> }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p class="quiet">Without arguments</p>;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{labelOf(name)}</dt>
          <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Decline({ tool, onDecline, onClose }: { tool: string; onDecline: (reason: string) => Promise<void>; onClose: () => void }) {
  const form = useForm(({ text }) => onDecline(text("reason")));
  return (
    <Dialog title={`Decline ${tool}`} onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextArea
          label="Reason"
          name="reason"
          rows={3}
          required
          maxLength={1000}
          placeholder="The order is older than 30 days."
          hint="The agent reads it before it answers the visitor."
          error={form.errorAt("reason")}
        />
        <FieldError text={form.error} />
        <div class="actions">
          <Button variant="primary" type="submit" isBusy={form.isBusy}>
            Decline
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface EditProps {
  tool: string;
  given: Record<string, unknown>;
  onApprove: (changed: Record<string, unknown>) => Promise<void>;
  onClose: () => void;
}

function Edit({ tool, given, onApprove, onClose }: EditProps) {
  const form = useForm(({ text }) => onApprove(parseObject(text("arguments"), "arguments")));
  return (
    <Dialog title={`Change ${tool}`} onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextArea
          label="Arguments"
          name="arguments"
          rows={6}
          required
          spellcheck={false}
          defaultValue={JSON.stringify(given, null, 2)}
          hint="As JSON. They must fit the tool's parameters."
          error={form.errorAt("arguments")}
        />
        <FieldError text={form.error} />
        <div class="actions">
          <Button variant="primary" type="submit" isBusy={form.isBusy}>
            Approve
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
