import { api } from "../api.ts";
import { useQuery } from "../query.ts";
import { Empty, Loaded } from "../ui/states.tsx";

const SHOWN = 8;
const TYPE_WORDS = { page: "Web page", text: "Text", answer: "Curated answer" } as const;

/** What the agent's knowledge has for a question, the best first. */
export function Retrieved({ agentId, question }: { agentId: string; question: string }) {
  const query = useQuery(`${agentId} ${question}`, async (signal) => {
    const { data } = await api.searchKnowledge({ agent_id: agentId, body: { query: question, limit: SHOWN } }, { signal });
    return data;
  });
  return (
    <aside class="stack" aria-label="Knowledge found">
      <h2>Found for “{question}”</h2>
      <Loaded query={query}>
        {(results) =>
          results.length === 0 ? (
            <Empty title="Nothing fits">No passage has these words or this meaning. Add a source or a curated answer that does.</Empty>
          ) : (
            <ol class="stack found">
              {results.map(({ title, url, type, content, score }, at) => (
                <li key={at} class="card">
                  <div class="card-top">
                    <strong>
                      {url ? (
                        <a href={url} target="_blank" rel="noopener noreferrer nofollow">
                          {title}
                        </a>
                      ) : (
                        title
                      )}
                    </strong>
                    <span class="quiet">
                      {TYPE_WORDS[type]} · score {score.toFixed(2)}
                    </span>
                  </div>
                  <p class="plain clamp-5">{content}</p>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </aside>
  );
}
