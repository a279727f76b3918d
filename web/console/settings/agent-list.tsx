import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { useAgents } from "../agents.tsx";
import { api } from "../api.ts";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { FormEnd, TextField } from "../ui/field.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { countOf } from "../ui/format.tsx";
import { useForm } from "../ui/form.ts";

export function AgentList() {
  const agents = useAgents();
  const [isAdding, setAdding] = useState(false);
  const add = hasScope("agents:write") && (
    <Button variant="primary" onClick={() => setAdding(true)}>
      Create agent
    </Button>
  );
  return (
    <section class="stack" aria-label="Agents">
      <div class="actions">{add}</div>
      <Loaded query={agents}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No agents yet">An agent answers from its own knowledge, in its own words.</Empty>
          ) : (
            <ul class="stack">
              {all.map(({ id, name, status, description, sources_count: sources, answers_count: answers }) => (
                <li key={id} class="card">
                  <div class="card-top">
                    <Link href={`/agents/${id}`}>
                      <strong>{name}</strong>
                    </Link>
                    <span class={status === "active" ? "status ready" : "status"}>{status === "active" ? "Answers" : "Paused"}</span>
                  </div>
                  {description && <p>{description}</p>}
                  <p class="quiet">
                    {countOf(sources, "source")}, {countOf(answers, "curated answer")}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {isAdding && <CreateAgent onClose={() => setAdding(false)} />}
    </section>
  );
}

function CreateAgent({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const form = useForm(async ({ text }) => {
    const { id } = await api.createAgent({ body: { name: text("name") } });
    onClose();
    navigate(`/agents/${id}`);
  });
  return (
    <Dialog title="Create agent" onClose={onClose}>
      <form class="stack" onSubmit={form.onSubmit}>
        <TextField label="Name" name="name" required maxLength={120} error={form.errorAt("name")} hint="Visitors see it." />
        <FormEnd form={form}>Create agent</FormEnd>
      </form>
    </Dialog>
  );
}
