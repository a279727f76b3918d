import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, type Schemas } from "../api.ts";
import { usePages } from "../lists.ts";
import { SaveAnswer } from "../playground/save-answer.tsx";
import { hasScope } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Select } from "../ui/field.tsx";
import { PagesCards } from "../ui/pages.tsx";
import { Empty } from "../ui/states.tsx";
import { formatNumber, Time } from "../ui/format.tsx";

type Gap = Schemas["Gap"];

const RANGES = [
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
  ["90", "Last 90 days"],
  ["365", "Last year"],
] as const;

/** The questions that the agent could not answer, in groups, with the conversations in which visitors asked them. */
export function Gaps({ agentId }: { agentId: string }) {
  const [days, setDays] = useState<(typeof RANGES)[number][0]>("30");
  const [answering, setAnswering] = useState<Gap>();
  const pages = usePages(`${agentId} ${days}`, async (page, options) => {
    const gaps = await api.listGaps({ agent_id: agentId, days: Number(days), ...page }, options);
    return { ...gaps, data: gaps.data.map((gap) => ({ ...gap, id: gap.question })) };
  });
  return (
    <section class="stack" aria-label="Gaps">
      <div class="card-top">
        <p class="quiet">Questions that the agent could not answer, and those whose answer was rated down.</p>
        <Select label="Range" hideLabel options={RANGES} value={days} onChoose={setDays} />
      </div>
      <PagesCards
        pages={pages}
        card={(gap) => <GapCard gap={gap} onAnswer={() => setAnswering(gap)} />}
        empty={<Empty title="No gaps">Questions without an answer appear here, the most frequent first.</Empty>}
      />
      {answering && (
        <SaveAnswer
          agentId={agentId}
          question={answering.question}
          answer=""
          onClose={() => setAnswering(undefined)}
          onSaved={pages.first.reload}
        />
      )}
    </section>
  );
}

function GapCard({ gap, onAnswer }: { gap: Gap; onAnswer: () => void }) {
  return (
    <>
      <div class="card-top">
        <strong>{gap.question}</strong>
        {hasScope("knowledge:write") && <Button onClick={onAnswer}>Add an answer</Button>}
      </div>
      <p class="quiet">
        {[timesOf(gap.unanswered, "without an answer"), timesOf(gap.rated_down, "rated down")].filter(Boolean).join(" · ")}
        {" · "}
        <Time at={gap.last_at} />
      </p>
      <ul class="examples">
        {gap.examples.map((example) => (
          <li key={`${example.conversation_id} ${example.at}`}>
            <ConversationLink id={example.conversation_id} text={conversationLinkText(example.question, gap.question)} />
            <span class="quiet">
              {example.kind === "rated_down" && "rated down "}
              <Time at={example.at} />
            </span>
            {example.comment && <p class="quiet plain">“{example.comment}”</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

function timesOf(count: number, what: string): string | undefined {
  return count === 0 ? undefined : `${formatNumber(count)} ${count === 1 ? "time" : "times"} ${what}`;
}

/** The text of a link to a conversation. It is the question that the visitor asked, if it differs from the question above the link. */
export function conversationLinkText(asked: string, question: string): string {
  return asked === question ? "Open the conversation" : asked;
}

/** A link to a conversation in the inbox, or its text alone if the key may not read conversations. */
export function ConversationLink({ id, text }: { id: string; text: string }) {
  return hasScope("conversations:read") ? <Link href={`~/inbox/${id}`}>{text}</Link> : <span>{text}</span>;
}
