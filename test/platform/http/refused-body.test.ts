import { expect, test } from "vitest";
import { createAgent, createWorkspace, newAddress, send } from "../../harness.ts";

const CHUNK = new Uint8Array(64 * 1024).fill(0x20);

/** Sends a body of so many chunks of 64 KiB, and returns the status and how much of the body was read before the response. */
async function upload(method: string, path: string, chunks: number, headers: Record<string, string>) {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    { pull: (controller) => (sent++ < chunks ? controller.enqueue(CHUNK.slice()) : controller.close()) },
    { highWaterMark: 0 },
  );
  const answer = await send(method, path, { body, headers: { ...newAddress(), ...headers } });
  return { status: answer.status, code: answer.body.error?.code, requestId: answer.body.error?.request_id, isWhole: sent > chunks };
}

const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = { "Content-Type": "multipart/form-data; boundary=b" };

/** Each refusal: its request, the headers, the status and the code. */
const REFUSALS: [name: string, method: string, path: string, headers: Record<string, string>, status: number, code: string | undefined][] =
  [
    ["without a key", "POST", "/api/v1/agents/AGENT/messages", JSON_TYPE, 401, "missing_api_key"],
    ["too large", "POST", "/api/v1/agents/AGENT/messages", { KEY: "", ...JSON_TYPE }, 413, "payload_too_large"],
    [
      "too large as announced",
      "POST",
      "/api/v1/agents/AGENT/messages",
      { KEY: "", "Content-Length": "5000000", ...JSON_TYPE },
      413,
      "payload_too_large",
    ],
    ["with too long a text", "POST", "/api/v1/agents/AGENT/sources", { KEY: "", ...JSON_TYPE }, 413, "payload_too_large"],
    [
      "that is not the form",
      "POST",
      "/api/v1/agents/AGENT/sources/files",
      { KEY: "", "Content-Type": "text/plain" },
      422,
      "validation_error",
    ],
    ["that is a damaged form", "POST", "/api/v1/agents/AGENT/sources/files", { KEY: "", ...FORM_TYPE }, 422, "validation_error"],
    ["to an unknown path", "POST", "/api/v1/nothing", { KEY: "", ...JSON_TYPE }, 404, "not_found"],
    ["with a wrong method", "POST", "/api/v1/me", { KEY: "", ...JSON_TYPE }, 405, "method_not_allowed"],
    ["that the operator's surface does not let in", "POST", "/operator/v1/workspaces", JSON_TYPE, 401, "missing_api_key"],
    ["that the protocol of assistants does not let in", "POST", "/mcp", JSON_TYPE, 401, "missing_api_key"],
    ["of another protocol to assistants", "POST", "/mcp", { KEY: "", "Content-Type": "text/plain" }, 413, "payload_too_large"],
    ["of a visitor that is too large", "POST", "/widget/v1/agents/AGENT/messages", JSON_TYPE, 413, "payload_too_large"],
  ];

test.each(REFUSALS)("a body %s is read to its end before it is refused", async (_, method, path, headers, status, code) => {
  const workspace = await createWorkspace();
  const agent = await createAgent(workspace);
  const { KEY: hasKey, ...given } = headers;
  const all = { ...given, ...(hasKey !== undefined && { Authorization: `Bearer ${workspace.key}` }) };
  // 100 chunks are 6.25 MiB: more than the largest text, less than the largest file.
  const answer = await upload(method, path.replace("AGENT", agent.id), 100, all);
  expect(answer).toMatchObject({ status, code, isWhole: true, requestId: expect.any(String) });
});

test("a body that an operation does not take is read to its end", async () => {
  const workspace = await createWorkspace();
  const answer = await upload("DELETE", "/api/v1/webhooks/019a9f0e-3c1b-7d42-8a55-6f1d2e3c4b00", 20, {
    Authorization: `Bearer ${workspace.key}`,
  });
  expect(answer).toMatchObject({ status: 404, isWhole: true });
});

test("a body past 32 MiB is not read to its end", async () => {
  expect(await upload("POST", "/api/v1/me", 2_000, JSON_TYPE)).toMatchObject({ status: 401, isWhole: false });
});
