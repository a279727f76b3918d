import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { type Member, useMembers } from "../members.ts";
import { useQuery } from "../query.ts";
import { hasScope, me } from "../session.ts";
import { PRIORITIES, useTeams } from "../teams.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Select } from "../ui/field.tsx";
import { formatNumber, Time } from "../ui/format.tsx";
import type { Change } from "./conversation.tsx";
import { CHANNEL_WORDS, HANDOFF_WORDS, isWithTeam, Status } from "./words.tsx";

type Conversation = Schemas["ConversationWithMessages"];

/** The details of a conversation besides its messages. */
export function Details({ conversation, change, onClose }: { conversation: Conversation; change: Change; onClose: () => void }) {
  const { visitor, handoff, csat } = conversation;
  return (
    <aside class="details scroll" aria-label="Details">
      <header>
        <h2>Details</h2>
        <IconButton icon="close" label="Hide details" onClick={onClose} />
      </header>
      <Section title="Visitor">
        <Facts
          facts={[
            ["Name", visitor?.name],
            ["Email", visitor?.email],
            ["Your id", visitor?.external_id],
            ["Identity", visitor && (visitor.verified ? "Verified" : "Not verified")],
            ["Visitor id", visitor && !visitor.external_id ? <code key="visitor">{visitor.anon_id}</code> : null],
          ]}
        />
      </Section>
      {visitor && hasScope("leads:read") && <ContactDetails visitorId={visitor.id} />}
      {handoff && (
        <Section title="Hand-off">
          <p>{HANDOFF_WORDS[handoff.reason]}</p>
          {handoff.summary && <p class="quiet">{handoff.summary}</p>}
          {conversation.status === "needs_human" && (
            <p class="quiet">
              Waiting since <Time at={handoff.requested_at} />
            </p>
          )}
        </Section>
      )}
      <Section title="Assigned to">
        <Assignee conversation={conversation} change={change} />
      </Section>
      <Routing conversation={conversation} change={change} />
      <Section title="Tags">
        <Tags tags={conversation.tags} change={change} />
      </Section>
      <Section title="Conversation">
        <Facts
          facts={[
            ["Channel", CHANNEL_WORDS[conversation.channel]],
            ["Started", <Time key="started" at={conversation.created_at} />],
            ["Messages", conversation.message_count],
            ["Reopened", conversation.reopened_count || null],
            ["Rating", csat && `${csat.score} of 5${csat.comment ? `: ${csat.comment}` : ""}`],
            ["Id", <code key="id">{conversation.id}</code>],
          ]}
        />
      </Section>
      {visitor && <OtherConversations visitorId={visitor.id} openId={conversation.id} />}
    </aside>
  );
}

/** What the visitor entered in the contact form, latest first. */
function ContactDetails({ visitorId }: { visitorId: string }) {
  const { data: leads } = useQuery(
    visitorId,
    async (signal) => (await api.listLeads({ visitor_id: visitorId, limit: 3 }, { signal })).data,
    ({ kind }) => kind === "lead",
  );
  if (!leads?.length) return null;
  return (
    <Section title="Contact form">
      {leads.map(({ id, name, email, phone, message, custom_fields: fields, source_url: page, created_at: at }) => (
        <Facts
          key={id}
          facts={[
            ["Name", name],
            [
              "Email",
              email && (
                <a key="email" href={`mailto:${encodeURIComponent(email)}`}>
                  {email}
                </a>
              ),
            ],
            ["Phone", phone],
            ["Message", message],
            ...Object.entries(fields).map(([label, value]): [string, string] => [
              label,
              typeof value === "string" ? value : JSON.stringify(value),
            ]),
            ["Page", page],
            ["Sent", <Time key="sent" at={at} />],
          ]}
        />
      ))}
    </Section>
  );
}

const MAX_OTHERS = 10;

/** The visitor's other conversations, latest first. */
function OtherConversations({ visitorId, openId }: { visitorId: string; openId: string }) {
  const { data: page } = useQuery(
    visitorId,
    (signal) => api.listConversations({ visitor_id: visitorId, limit: MAX_OTHERS + 1 }, { signal }),
    ({ kind }) => kind === "conversation",
  );
  const others = (page?.data ?? []).filter(({ id }) => id !== openId);
  if (others.length === 0) return null;
  return (
    <Section title={`Other conversations (${formatNumber(page!.total - 1)})`}>
      <ul class="others">
        {others.slice(0, MAX_OTHERS).map(({ id, subject, status, last_message_at: at }) => (
          <li key={id}>
            <Link href={`/${id}`}>{subject ?? "Without words"}</Link>
            <span class="quiet">
              <Status status={status} /> · <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (known.length === 0) return <p class="quiet">Nothing is known.</p>;
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Assignee({ conversation: { assignee }, change }: { conversation: Conversation; change: Change }) {
  const isMine = assignee?.id === me().id;
  const { data: members = [], isLoading } = useMembers();
  const mayAssign = hasScope("conversations:write") && !isLoading;
  const active = members.filter(({ status }) => status === "active");
  if (mayAssign && active.length > 0) return <AssigneePicker members={active} assignee={assignee} change={change} />;
  return (
    <div class="assignee">
      <span>{assignee ? isMine ? `${assignee.name} (you)` : assignee.name : <span class="quiet">Nobody</span>}</span>
      {mayAssign && !isMine && me().name !== "" && (
        <Button variant="quiet" onClick={() => void change({ assignee: me() })}>
          Assign to me
        </Button>
      )}
      {mayAssign && assignee && (
        <Button variant="quiet" onClick={() => void change({ assignee: null })}>
          Unassign
        </Button>
      )}
    </div>
  );
}

/** The team and the priority of a conversation. */
function Routing({
  conversation: { team_id: teamId, priority, status, assignee },
  change,
}: {
  conversation: Conversation;
  change: Change;
}) {
  const { data: teams = [] } = useTeams();
  const mayWrite = hasScope("conversations:write");
  const team = teams.find(({ id }) => id === teamId);
  if (!mayWrite) {
    const word = PRIORITIES.find(([value]) => value === priority)![1];
    return (
      <Section title="Priority">
        <p>{[word, team?.name].filter(Boolean).join(" · ")}</p>
      </Section>
    );
  }
  return (
    <>
      {teams.length > 0 && (
        <Section title="Team">
          <Select
            label="Team"
            hideLabel
            options={[["", "None"], ...teams.map(({ id, name }) => [id, name] as const)]}
            value={team?.id ?? ""}
            onChoose={(id) => void change({ team_id: id || null })}
          />
          {team && isWithTeam(status) && (
            <Button variant="quiet" onClick={() => void change({ assign: "round_robin" })}>
              {assignee ? "Give to another member" : "Give to a free member"}
            </Button>
          )}
        </Section>
      )}
      <Section title="Priority">
        <Select label="Priority" hideLabel options={PRIORITIES} value={priority} onChoose={(chosen) => void change({ priority: chosen })} />
      </Section>
    </>
  );
}

interface PickerProps {
  members: readonly Member[];
  assignee: Conversation["assignee"];
  change: Change;
}

/** Assigns the conversation to a member, or to the user of a key who gave a name. Whoever has it stays in the list. */
function AssigneePicker({ members, assignee, change }: PickerProps) {
  const others = [me(), ...(assignee ? [assignee] : [])].filter(({ id, name }) => name !== "" && members.every((one) => one.id !== id));
  const choices = new Map([...members, ...others].map((one) => [one.id, one]));
  const textOf = ({ id, name, availability }: { id: string; name: string; availability?: Member["availability"] }) =>
    `${name}${id === me().id ? " (you)" : ""}${availability === "away" ? ", away" : ""}`;
  return (
    <Select
      label="Assigned to"
      hideLabel
      options={[["", "Nobody"], ...[...choices.values()].map((one) => [one.id, textOf(one)] as const)]}
      value={assignee?.id ?? ""}
      onChoose={(id) => {
        const chosen = choices.get(id);
        void change({ assignee: chosen ? { id, name: chosen.name } : null });
      }}
    />
  );
}

function Tags({ tags, change }: { tags: string[]; change: Change }) {
  const [text, setText] = useState("");
  const mayWrite = hasScope("conversations:write");
  const add = () => {
    const tag = text.trim();
    setText("");
    if (tag !== "" && !tags.includes(tag)) void change({ tags: [...tags, tag] });
  };
  return (
    <div class="tags">
      {tags.map((tag) => (
        <span key={tag} class="tag">
          <span title={tag}>{tag}</span>
          {mayWrite && (
            <button
              type="button"
              aria-label={`Remove the tag ${tag}`}
              onClick={() => void change({ tags: tags.filter((other) => other !== tag) })}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {mayWrite && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          <input
            aria-label="Add a tag"
            placeholder="Add a tag"
            data-tag
            value={text}
            maxLength={200}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
            onBlur={add}
            onKeyDown={({ key, currentTarget }) => {
              if (key !== "Escape") return;
              // Leaving the field adds its text.
              if (text === "") currentTarget.blur();
              else setText("");
            }}
          />
        </form>
      )}
    </div>
  );
}
