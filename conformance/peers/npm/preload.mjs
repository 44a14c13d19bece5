// Loaded with `node --import preload.mjs` ahead of a server that this project did
// not write and does not edit. It binds the server to a free port of 127.0.0.1,
// prints one line with its address, keeps a ledger of what the server was sent,
// and ends the process when stdin ends.
//
//   {"url":"http://127.0.0.1:PORT/mcp","ledger":"http://127.0.0.1:PORT/ledger"}
//
// GET /ledger?calls=N&cancels=M answers {"calls": n, "cancels": m} as soon as n >= N
// and m >= M, or after 5 s: how many tools/call and notifications/cancelled came.

import http from "node:http";

const seen = { calls: 0, cancels: 0 };
const waiting = new Set();

const listen = http.Server.prototype.listen;
http.Server.prototype.listen = function (_port, ...rest) {
  const callback = rest.find((arg) => typeof arg === "function");
  return listen.call(this, 0, "127.0.0.1", () => {
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
    } else {
      const body = Buffer.concat(parts);
      if (body.includes('"tools/call"')) seen.calls += 1;
      if (body.includes('"notifications/cancelled"')) seen.cancels += 1;
      for (const wake of waiting) wake();
    }
    return push.call(this, chunk, encoding);
  };
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
    if (Object.keys(seen).every((name) => seen[name] >= Number(wanted.get(name)))) answer();
  };
  const timer = setTimeout(answer, 5000);
  waiting.add(check);
  check();
}

process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
