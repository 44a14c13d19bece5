// The sessions of the era before 2026-07-28, as the examples of both SDKs keep them:
// one transport and one McpServer each.

import { randomUUID } from "node:crypto";

export class Sessions {
  #transports = new Map();

  // newTransport makes a transport from its options, connect gives it a server.
  constructor(newTransport, connect) {
    this.newTransport = newTransport;
    this.connect = connect;
  }

  async handle(request, response) {
    const id = request.headers["mcp-session-id"];
    if (id !== undefined && !this.#transports.has(id)) {
      response.writeHead(404).end("no such session"); // the client has to open a new one
      return;
    }
    const transport = id === undefined ? await this.#open() : this.#transports.get(id);
    await transport.handleRequest(request, response);
  }

  async #open() {
    const transport = this.newTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#transports.set(id, transport);
      },
      onsessionclosed: (id) => {
        this.#transports.delete(id);
      },
    });
    await this.connect(transport);
    return transport;
  }
}
