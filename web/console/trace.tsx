import type { ComponentChildren } from "preact";
import { ApiError } from "../../client/index.ts";
import { ExternalLink } from "../shared/markdown.tsx";
import { api, type Schemas } from "./api.ts";
import { useQuery } from "./query.ts";
import { Dialog } from "./ui/dialog.tsx";
import { Loaded } from "./ui/states.tsx";
import { type Column, Table } from "./ui/table.tsx";
import { formatConfidence, formatNumber, labelOf } from "./ui/format.tsx";

/** The trace of an answer, or of a case of an evaluation, which is always asked with the agent's own settings. */
type Trace = Omit<Schemas["Trace"], "message_id" | "conversation_id" | "agent_id" | "agent_version" | "created_at" | "changed_settings"> &
  Partial<Pick<Schemas["Trace"], "changed_settings">>;
type Search = Trace["searches"][number];
type Passage = Search["passages"][number];

interface AnswerIds {
  conversationId: string;
  messageId: string;
}

export function WhyDialog({ onClose, ...ids }: AnswerIds & { onClose: () => void }) {
  return (
    <Dialog title="Why this answer" isWide onClose={onClose}>
      <AnswerTrace {...ids} />
    </Dialog>
  );
}

/** Explains why an answer was given. */
export function AnswerTrace({ conversationId, messageId }: AnswerIds) {
  const query = useQuery(messageId, (signal) => api.getTrace({ conversation_id: conversationId, message_id: messageId }, { signal }));
  if (query.error instanceof ApiError && query.error.status === 404) return <p class="quiet">{query.error.message}</p>;
  return <Loaded query={query}>{(trace) => <TraceView trace={trace} />}</Loaded>;
}

/** Shows a trace: the decision, the searches, and the calls of models and tools. */
export function TraceView({ trace }: { trace: Trace }) {
  const { decision, searches, model_calls: models, tool_calls: tools, changed_settings: changed = [] } = trace;
  const isAnswered = decision.outcome === "answered";
  return (
    <div class="stack trace">
      <section class="card" aria-label="Decision">
        <p>
          <span class={`status ${isAnswered ? "ready" : "failed"}`}>{isAnswered ? "Answered" : "Not answered"}</span>
        </p>
        <p>{decision.explanation}</p>
        <p class="quiet">
          Confidence {formatConfidence(decision.confidence)}, threshold {decision.threshold} · {seconds(trace.duration_ms)}
        </p>
        {changed.length > 0 && <p class="quiet">Tried with other settings: {changed.map(labelOf).join(", ").toLowerCase()}</p>}
      </section>
      {searches.map((search, at) => (
        <SearchView key={at} search={search} />
      ))}
      {models.length > 0 && (
        <Calls
          title="Model"
          calls={models}
          columns={[
            ["Model", ({ model }) => model],
            ["Input tokens", (call) => (call.input_tokens === null ? "–" : formatNumber(call.input_tokens)), "number"],
            ["Output tokens", (call) => (call.output_tokens === null ? "–" : formatNumber(call.output_tokens)), "number"],
            ["First token", (call) => (call.first_token_ms === null ? "–" : seconds(call.first_token_ms)), "number"],
            ["Total", (call) => seconds(call.duration_ms), "number"],
            ["End", ({ failure, finish }) => failure ?? finish ?? "stopped"],
          ]}
        />
      )}
      {tools.length > 0 && (
        <Calls
          title="Tools"
          calls={tools}
          columns={[
            ["Tool", ({ name }) => name],
            ["Arguments", (call) => <code>{call.arguments}</code>],
            ["Result", (call) => [call.outcome.replace("_", " "), call.status, call.note].filter((part) => part !== null).join(" · ")],
            ["Total", (call) => seconds(call.duration_ms), "number"],
          ]}
        />
      )}
    </div>
  );
}

function SearchView({
  search: { by, query, previous_question: previous, passages, answers, duration_ms: durationMs },
}: {
  search: Search;
}) {
  return (
    <section class="stack" aria-label="What was found">
      <div>
        <h3>
          {by === "tool" ? "The model searched for" : "Found for"} “{query}”
        </h3>
        <p class="quiet">
          {previous !== null && <>Understood together with “{previous}” · </>}
          {seconds(durationMs)}
        </p>
      </div>
      {passages.length + answers.length === 0 && (
        <p class="quiet">Nothing was found. Add a source, or a curated answer with this question.</p>
      )}
      <ol class="stack found">
        {answers.map(({ answer_id: id, question, score, is_cited: isCited }) => (
          <li key={id} class="card">
            <Found title={question} isCited={isCited} facts={`Curated answer · similarity ${score.toFixed(2)}`} />
          </li>
        ))}
        {passages.map((passage, at) => (
          <li key={at} class="card">
            <Found title={titleOf(passage)} isCited={passage.is_cited} facts={scoresOf(passage)} />
            {passage.content && <p class="plain clamp-5">{passage.content}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Found({ title, isCited, facts }: { title: ComponentChildren; isCited: boolean; facts: string }) {
  return (
    <div>
      <div class="card-top">
        <strong>{title}</strong>
        {isCited && <span class="status ready">Used</span>}
      </div>
      <p class="quiet">{facts}</p>
    </div>
  );
}

function titleOf({ title, heading, url }: Passage): ComponentChildren {
  const text = heading === null || heading === title ? title : `${title} › ${heading}`;
  if (url === null) return text;
  return <ExternalLink href={url}>{text}</ExternalLink>;
}

const SCORE_WORDS = { lexical: "words", semantic: "meaning", reranker: "reranker" } as const;

/** The score of a passage, and its parts. */
function scoresOf({ score, scores }: Passage): string {
  const parts = (["lexical", "semantic", "reranker"] as const).filter((part) => scores[part] !== null);
  return [`Score ${score.toFixed(2)}`, ...parts.map((part) => `${SCORE_WORDS[part]} ${scores[part]!.toFixed(2)}`)].join(" · ");
}

function Calls<Call>({ title, calls, columns }: { title: string; calls: readonly Call[]; columns: readonly Column<Call>[] }) {
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      <Table label={`Calls: ${title}`} rows={calls} columns={columns} />
    </section>
  );
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
