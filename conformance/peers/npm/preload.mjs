// Loaded with `node --import preload.mjs` ahead of a server that this project did
// not write and does not edit. It binds the server to a free port of 127.0.0.1, or
// to that of the environment variable PEER_PORT, prints one line with its address,
// keeps a ledger of what the server was sent, and ends the process when stdin ends.
//
//   {"url":"http://127.0.0.1:PORT/mcp","ledger":"http://127.0.0.1:PORT/ledger"}
//
// GET /ledger answers {"calls": n, "cancels": m, "lines": [...], "revision": "..."}: how
// many tools/call and notifications/cancelled came, a line for each, and the last
// MCP-Protocol-Version. With ?calls=N&cancels=M&until=LINE it does so as soon as n >= N
// and m >= M and the line is there, or after 5 s. A line is the tool's name or
// "cancelled", and the argument `text` or `message` of the call.

import http from "node:http";

const seen = { calls: 0, cancels: 0, lines: [], revision: "" };
const texts = new Map(); // of the calls, by request id
const waiting = new Set();

const listen = http.Server.prototype.listen;
http.Server.prototype.listen = function (_port, ...rest) {
  const callback = rest.find((arg) => typeof arg === "function");
  return listen.call(this, Number(process.env.PEER_PORT ?? 0), "127.0.0.1", () => {
    const base = `http://127.0.0.1:${this.address().port}`;
    process.stdout.write(`${JSON.stringify({ url: `${base}/mcp`, ledger: `${base}/ledger` })}\n`);
    callback?.();
  });
};

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, response) {
  if (event === "request") {
    if (request.url.startsWith("/ledger")) {
      answerLedger(request, response);
      return true;
    }
    observe(request);
  }
  return emit.apply(this, arguments);
};

// observe sees the body of a request as the parser hands it over, without reading
// the stream that belongs to the server.
function observe(request) {
  const parts = [];
  const push = request.push;
  request.push = function (chunk, encoding) {
    if (chunk !== null) {
      parts.push(chunk);
    } else if (parts.length > 0) {
      note(JSON.parse(Buffer.concat(parts)), request.headers["mcp-protocol-version"]);
    }
    return push.call(this, chunk, encoding);
  };
}

function note({ id, method, params }, revision) {
  seen.revision = revision ?? "";
  if (method === "tools/call") {
    seen.calls += 1;
    texts.set(id, params.arguments?.text ?? params.arguments?.message);
    seen.lines.push(`${params.name} ${texts.get(id)}`);
  } else if (method === "notifications/cancelled") {
    seen.cancels += 1;
    seen.lines.push(`cancelled ${texts.get(params.requestId)}`);
  }
  for (const wake of waiting) wake();
}

function answerLedger(request, response) {
  const wanted = new URL(request.url, "http://127.0.0.1").searchParams;
  const answer = () => {
    clearTimeout(timer);
    waiting.delete(check);
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(seen));
  };
  const check = () => {
    const until = wanted.get("until");
    const counted = ["calls", "cancels"].every((name) => seen[name] >= Number(wanted.get(name)));
    if (counted && (!until || seen.lines.includes(until))) answer();
  };
  const timer = setTimeout(answer, 5000);
  waiting.add(check);
  check();
}

process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
