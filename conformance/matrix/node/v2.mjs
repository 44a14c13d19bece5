// An MCP server on @modelcontextprotocol/server, the 2.x line of the TypeScript SDK,
// which speaks both eras. Here it speaks the one it is told to.

import { setTimeout as sleep } from "node:timers/promises";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import * as ledger from "./ledger.mjs";
import { options, serve } from "./serve.mjs";
import { Sessions } from "./sessions.mjs";

const servers = new Set(); // of sessions
let grown = false;
let announce = () => servers.forEach(grow); // registerTool tells the client of each session

const text = (text) => ({ content: [{ type: "text", text }] });

function newServer() {
  const server = new McpServer({ name: "typescript-v2", version: "1.0.0" });

  server.registerTool("echo", { description: "Answers with the text.", inputSchema: z.object({ text: z.string() }) }, (input) => {
    ledger.write(`echo ${input.text}`);
    return text(input.text);
  });

  server.registerTool(
    "slow",
    {
      description: "Takes ms milliseconds in five steps, with progress after each.",
      inputSchema: z.object({ text: z.string(), ms: z.number() }),
    },
    async (input, { mcpReq }) => {
      ledger.write(`slow ${input.text}`);
      for (let step = 1; step <= 5; step++) {
        try {
          await sleep(input.ms / 5, undefined, { signal: mcpReq.signal });
        } catch (error) {
          ledger.write(`cancelled ${input.text}`);
          throw error;
        }
        if (mcpReq._meta?.progressToken !== undefined) {
          await mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken: mcpReq._meta.progressToken, progress: step, total: 5 },
          });
        }
      }
      return text(input.text);
    },
  );

  server.registerTool(
    "ledger",
    {
      description: "Answers with the revision spoken and what the tools did.",
      inputSchema: z.object({ until: z.string().optional() }),
    },
    async ({ until }, { http }) =>
      text([http.req.headers.get("mcp-protocol-version"), ...(await ledger.read(until))].join("\n")),
  );

  server.registerTool("grow", { description: "Adds the tool grown." }, () => {
    grown = true;
    announce();
    return text("there is a new tool");
  });

  if (grown) grow(server);
  return server;
}

function grow(server) {
  server.registerTool("grown", { description: "A tool that was not always there." }, () => text("grown"));
}

if (options.era === "modern") {
  const handler = createMcpHandler(newServer, { legacy: "reject", responseMode: options.reply });
  announce = () => handler.notify.toolsChanged();
  serve(toNodeHandler(handler));
} else {
  const sessions = new Sessions(
    (settings) => new NodeStreamableHTTPServerTransport({ ...settings, enableJsonResponse: options.reply === "json" }),
    async (transport) => {
      const server = newServer();
      servers.add(server);
      server.server.onclose = () => servers.delete(server);
      await server.connect(transport);
    },
  );
  serve((request, response) => sessions.handle(request, response));
}
