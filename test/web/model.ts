import { createServer, type Server } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type ChatRequest, OpenAiStandIn, type Script } from "../stand-ins/openai.ts";

/** The answers to questions with one of these words in brackets, such as "Tell me [slow]". "[basket]" and "[refund]" call a tool. */
const ANSWERS: Record<string, string> = {
  slow: Array.from({ length: 60 }, (_, at) => `Word${at}.`).join(" "),
  markdown: `Here is **how**:

1. Open *Billing*
2. Run \`npm start\`

| Plan | Price |
| --- | ---: |
| Pro | 10 € |

\`\`\`js
const answer = 42;
\`\`\`

See [the docs](https://docs.example.com/a?b=1) or write to <help@example.com>.`,
  hostile: `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">

[click](javascript:window.hacked=3) [data](data:text/html,<script>window.hacked=4</script>) ![picture](https://tracker.example.com/p.png)

${"endless".repeat(150)}

| ${Array.from({ length: 30 }, (_, at) => `column ${at}`).join(" | ")} |
| ${Array.from({ length: 30 }, () => "---").join(" | ")} |
| ${Array.from({ length: 30 }, () => "cell").join(" | ")} |

${">".repeat(200)} deep

${"- ".repeat(100)}nested`,
};

/** The pause of the slow answer before each word. */
const WORD_MS = 60;

/** Plays a visitor who is content with the first answer. */
function playVisitor(conversation: string): string {
  return conversation.includes("<<agent") ? "@done" : "What is in my basket? [basket]";
}

/** Judges criteria: only that the agent is sorry is not true. */
function judge(material: string): string {
  const criteria = [...material.matchAll(/<<criterion (\d+) [^>]*>>\n(.*)\n/g)];
  return criteria
    .map(([, number, text]) => (text!.includes("sorry") ? `${number}: no: It does not say so.` : `${number}: yes: The agent does so.`))
    .join("\n");
}

function scriptOf({ messages }: ChatRequest): Script {
  const last = messages.at(-1);
  const rules = messages[0]?.content ?? "";
  if (rules.startsWith("You play a visitor")) return { text: [playVisitor(last?.content ?? "")] };
  if (rules.startsWith("You judge whether")) return { text: [judge(last?.content ?? "")] };
  if (last?.role === "tool") return { text: ["@sources t1\n", /"total":"([^"]+)"/.exec(last.content ?? "")?.[1] ?? "It failed."] };
  if (last?.content?.includes("[refund]")) return { toolCalls: [{ name: "refund_order", arguments: { order: "4711", amount: 48 } }] };
  if (last?.content?.includes("[basket]")) return { toolCalls: [{ name: "basket", arguments: {} }] };
  const [, name = "markdown"] = /\[(slow|markdown|hostile)\]/.exec(messages.at(-1)?.content ?? "") ?? [];
  const pieces = name === "slow" ? ANSWERS[name]!.split(/(?= )/) : [ANSWERS[name]!];
  // The first line names the passage that the answer rests on.
  return { text: ["@sources p1\n", ...pieces], ...(name === "slow" && { pieceMs: WORD_MS }) };
}

/** A server of the OpenAI protocol that gives these answers. */
export async function startModel(): Promise<{ url: string; server: Server }> {
  const standIn = new OpenAiStandIn(scriptOf);
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[]);
      const answer = await standIn.fetch(`http://localhost${request.url}`, { method: "POST", body });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.flushHeaders();
      await pipeline(Readable.fromWeb(answer.body as never), response);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`, server };
}
