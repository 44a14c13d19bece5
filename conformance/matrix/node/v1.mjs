// An MCP server on @modelcontextprotocol/sdk, the 1.x line of the TypeScript SDK,
// which speaks the era of sessions.

import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import * as ledger from "./ledger.mjs";
import { options, serve } from "./serve.mjs";
import { Sessions } from "./sessions.mjs";

const servers = new Set();
let grown = false;

const text = (text) => ({ content: [{ type: "text", text }] });

function newServer() {
  const server = new McpServer({ name: "typescript-v1", version: "1.0.0" });

  server.registerTool("echo", { description: "Answers with the text.", inputSchema: { text: z.string() } }, (input) => {
    ledger.write(`echo ${input.text}`);
    return text(input.text);
  });

  server.registerTool(
    "slow",
    { description: "Takes ms milliseconds in five steps, with progress after each.", inputSchema: { text: z.string(), ms: z.number() } },
    async (input, { signal, _meta, sendNotification }) => {
      ledger.write(`slow ${input.text}`);
      for (let step = 1; step <= 5; step++) {
        try {
          await sleep(input.ms / 5, undefined, { signal });
        } catch (error) {
          ledger.write(`cancelled ${input.text}`);
          throw error;
        }
        if (_meta?.progressToken !== undefined) {
          await sendNotification({
            method: "notifications/progress",
            params: { progressToken: _meta.progressToken, progress: step, total: 5 },
          });
        }
      }
      return text(input.text);
    },
  );

  server.registerTool(
    "ledger",
    { description: "Answers with the revision spoken and what the tools did.", inputSchema: { until: z.string().optional() } },
    async ({ until }, { requestInfo }) =>
      text([requestInfo.headers["mcp-protocol-version"], ...(await ledger.read(until))].join("\n")),
  );

  server.registerTool("grow", { description: "Adds the tool grown." }, () => {
    grown = true;
    servers.forEach(grow); // registerTool tells the client of each session
    return text("there is a new tool");
  });

  if (grown) grow(server);
  return server;
}

function grow(server) {
  server.registerTool("grown", { description: "A tool that was not always there." }, () => text("grown"));
}

const sessions = new Sessions(
  (settings) => new StreamableHTTPServerTransport({ ...settings, enableJsonResponse: options.reply === "json" }),
  async (transport) => {
    const server = newServer();
    servers.add(server);
    server.server.onclose = () => servers.delete(server);
    await server.connect(transport);
  },
);

serve((request, response) => sessions.handle(request, response));
