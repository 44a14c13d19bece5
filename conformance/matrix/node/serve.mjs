// What both servers need besides their SDK: options, a port, and the line with the
// address.

import http from "node:http";
import { parseArgs } from "node:util";

export const options = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    era: { type: "string", default: "legacy" },
    reply: { type: "string", default: "sse" },
  },
}).values;

// serve lets `handle` answer the requests to /mcp, until stdin ends.
export function serve(handle) {
  const server = http.createServer((request, response) => {
    if (request.url === "/mcp") {
      Promise.resolve(handle(request, response)).catch((error) => response.destroy(error));
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen(Number(options.port), "127.0.0.1", () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
  });
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
}
