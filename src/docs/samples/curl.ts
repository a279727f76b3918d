import { type SampleCall, type SampleValue, variableOf } from "./call.ts";

/** The call as a command of a POSIX shell. */
export function curlSample(call: SampleCall): string {
  const flags = call.answers === "events" ? ["-N"] : [];
  if (call.method !== "GET" && !(call.method === "POST" && call.body)) flags.push(`-X ${call.method}`);
  const headers = ["Authorization: Bearer $API_KEY"];
  if (call.body) headers.push("Content-Type: application/json");
  const lines = [
    ["curl", ...flags, `"$BASE_URL${pathOf(call)}"`].join(" "),
    ...headers.map((header) => `-H "${header}"`),
    ...(call.body ? [`-d '${JSON.stringify(call.body, null, 2).replaceAll("'", `'\\''`)}'`] : []),
  ];
  return lines.join(" \\\n  ");
}

function pathOf({ path, query }: SampleCall): string {
  const search = query.map(([name, value]) => `${name}=${valueOf(value)}`).join("&");
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(name)}`);
  return search === "" ? filled : `${filled}?${search}`;
}

function valueOf(value: SampleValue): string {
  return "variable" in value ? `$${value.variable}` : encodeURIComponent(value.literal);
}
