#!/usr/bin/env node
// Drives `toolhost serve` through every step of a scenario and prints one JSON line a
// step.
//
//   node driver.mjs scenario.json
//
// Node 20 or later, no dependencies. The class Toolhost is a whole host in a hundred
// lines: copy it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";

/** An error that toolhost answered: a code, a message, and data with its kind. */
class ToolhostError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data ?? {};
  }
}

/** A toolhost child process. */
class Toolhost {
  answers = new Map(); // answers seen so far, by id
  statuses = new Map(); // of each server, by name
  #pending = new Map(); // {resolve, reject}, by id
  #progress = new Map(); // functions, by the id of an invoke
  #watchers = new Set(); // functions to call when a status changes
  #nextId = 1;
  #ended = false;

  constructor([program, ...args]) {
    this.process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdin.on("error", () => {}); // a child that is gone is heard of by #read
    this.exited = once(this.process, "close");
    this.#read();
  }

  /** Sends a request; returns its id and a promise of its result. */
  send(method, params, onProgress) {
    if (this.#ended) throw new Error("toolhost has ended");
    const id = this.#nextId++;
    const result = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    result.catch(() => {}); // an error nobody has looked at yet is not a crash
    if (onProgress) this.#progress.set(id, onProgress);
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return { id, result };
  }

  /** Sends a request and returns its result, or throws a ToolhostError. */
  call(method, params) {
    return within(30_000, this.send(method, params).result);
  }

  /** Sends an invoke; returns its id and a promise of its result. */
  invoke(tool, args, { onProgress } = {}) {
    return this.send("invoke", { tool, arguments: args, progress: onProgress !== undefined }, onProgress);
  }

  /** Waits until a server is no longer `loading` and returns its status. */
  async untilStarted(server) {
    const started = () => {
      const status = this.statuses.get(server);
      return status && status.status !== "loading" ? status : undefined;
    };
    return started() ?? within(30_000, new Promise((resolve) => {
      const watch = () => {
        const status = started();
        if (!status) return;
        this.#watchers.delete(watch);
        resolve(status);
      };
      this.#watchers.add(watch);
    }));
  }

  /** Closes stdin, which asks the child to end, and returns its exit code. */
  async end(timeout) {
    this.process.stdin.end();
    const [code] = await within(timeout, this.exited);
    return code;
  }

  async #read() {
    // Lines are split by hand: node:readline also splits at a bare \r.
    let parts = [];
    for await (let chunk of this.process.stdout) {
      for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
        parts.push(chunk.subarray(0, end));
        this.#take(JSON.parse(Buffer.concat(parts).toString("utf8")));
        parts = [];
      }
      parts.push(chunk);
    }
    this.#ended = true;
    for (const { reject } of this.#pending.values()) reject(new Error("toolhost has ended"));
  }

  #take({ id, method, params, result, error }) {
    if (method === "status") {
      this.#noteStatuses(params.servers);
    } else if (method === "progress") {
      this.#progress.get(params.invoke)?.(params);
    } else if (method === undefined) {
      this.answers.set(id, (this.answers.get(id) ?? 0) + 1);
      const waiting = this.#pending.get(id);
      this.#pending.delete(id);
      this.#progress.delete(id);
      // Statuses are noted here, in the order they came: whoever waits for the answer
      // to `ready` may wake after a `status` that is newer.
      if (result?.servers) this.#noteStatuses(result.servers);
      if (error) waiting?.reject(new ToolhostError(error));
      else waiting?.resolve(result);
    }
  }

  #noteStatuses(servers) {
    for (const server of servers) this.statuses.set(server.name, server);
    for (const watch of [...this.#watchers]) watch();
  }
}

/** Settles as the promise does, or fails after that many milliseconds. */
async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened for ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// What follows performs the scenario with it.

class Driver {
  failed = false;

  constructor(scenario) {
    this.scenario = scenario;
    this.toolhost = new Toolhost(scenario.command);
  }

  async run() {
    await this.step("", "construct", () => this.construct());
    await this.step("", "bad entry", () => this.badEntry());
    for (const server of this.scenario.servers) {
      const steps = {
        "ready": () => this.ready(server),
        "list": () => this.listAll(server),
        "list one namespace": () => this.listNamespace(server),
        "list one tool": () => this.listTool(server),
        "echo": () => this.content(server, server.echo),
        "image": () => this.content(server, server.image),
        "structured": () => this.content(server, server.structured),
        "resource link": () => this.content(server, server.link),
        "isError": () => this.toolError(server),
        "unknown tool": () => this.unknownTool(server),
        "long call": () => this.content(server, server.slow),
        "cancel": () => this.cancel(server),
      };
      if (server.progress > 0) steps.progress = () => this.progress(server);
      for (const [name, perform] of Object.entries(steps)) await this.step(server.name, name, perform);
    }
    await this.step("", "close", () => this.toolhost.call("close", { id: "mcp" }));
    await this.step("", "end of file", async () => assert.equal(await this.toolhost.end(3000), 0));
    await this.step("", "one answer each", () => this.oneAnswerEach());
    return this.failed ? 1 : 0;
  }

  async step(server, name, perform) {
    let ok = true;
    let detail = "";
    try {
      await perform();
    } catch (problem) {
      ok = false;
      detail = String(problem);
      this.failed = true;
    }
    console.log(JSON.stringify({ server, step: name, ok, detail }));
  }

  async construct() {
    const config = Object.fromEntries(this.scenario.servers.map(({ name, url }) => [name, { url }]));
    config.bad = { command: "npx", args: ["-y", "some-server"] };
    const result = await this.toolhost.call("construct", {
      protocol: "1",
      pack: "runvil/mcp",
      id: "mcp",
      config,
      host: { name: "driver.mjs", version: "1.0", capabilities: { progress: true, status: true } },
    });
    assert.equal(result.protocol, "1");
    assert.deepEqual(names(result.tools), ["mcp/get_dynamic_tools", "mcp/call_dynamic_tool"]);
    await this.toolhost.call("ready", { id: "mcp" });
  }

  async badEntry() {
    const status = await this.toolhost.untilStarted("bad");
    assert.equal(status.status, "error");
    assert.equal(status.error, "local MCP servers (command) are not supported yet");
  }

  async ready(server) {
    const status = await this.toolhost.untilStarted(server.name);
    assert.equal(status.status, "ready", status.error);
    assert.equal(status.toolCount, server.tools.length);
  }

  async dynamicTools(args) {
    const result = await within(30_000, this.toolhost.invoke("mcp/get_dynamic_tools", args).result);
    assert.equal(result.untrusted, true);
    return result.content;
  }

  async listAll(server) {
    const { namespaces } = JSON.parse(await this.dynamicTools({}));
    assert.deepEqual(namespaces.map((n) => n.namespace), [...names(this.scenario.servers), "bad"].sort());
    const listed = namespaces.find((n) => n.namespace === server.name);
    assert.deepEqual(listed.tools, names(server.tools));
  }

  async listNamespace(server) {
    const text = await this.dynamicTools({ namespace: server.name });
    assert.deepEqual(names(JSON.parse(text).tools), names(server.tools));
    for (const { schema } of server.tools) contains(text, `"inputSchema":${schema}`); // byte for byte
  }

  async listTool(server) {
    const [{ name, schema }] = server.tools;
    const text = await this.dynamicTools({ namespace: server.name, toolName: name });
    assert.equal(JSON.parse(text).namespace, server.name);
    assert.equal(JSON.parse(text).name, name);
    contains(text, `"inputSchema":${schema}`);
  }

  callTool(server, call, options) {
    const args = { namespace: server.name, toolName: call.tool, arguments: call.arguments };
    return this.toolhost.invoke("mcp/call_dynamic_tool", args, options);
  }

  async content(server, call) {
    const result = await within(30_000, this.callTool(server, call).result);
    assert.equal(result.untrusted, true);
    assert.equal(result.content, call.content);
  }

  async errorOf({ result }) {
    const outcome = await within(30_000, result.catch((error) => error));
    assert.ok(outcome instanceof ToolhostError, `not an error of toolhost: ${JSON.stringify(outcome)} ${outcome}`);
    return outcome;
  }

  async toolError(server) {
    const { code, data, message } = await this.errorOf(this.callTool(server, server.fails));
    assert.deepEqual([code, data.kind, data.untrusted], [-32002, "backend", true]);
    contains(message, server.fails.content);
  }

  async unknownTool(server) {
    const { code, data, message } = await this.errorOf(this.callTool(server, { tool: "no-such-tool", arguments: {} }));
    assert.deepEqual([code, data.kind], [-32001, "message"]);
    contains(message, "no-such-tool");
  }

  async progress(server) {
    const seen = [];
    const call = this.callTool(server, server.slow, { onProgress: ({ progress }) => seen.push(progress) });
    assert.equal((await within(30_000, call.result)).content, server.slow.content);
    assert.deepEqual(seen, [...new Set(seen)].sort((a, b) => a - b), "progress must only grow");
    assert.ok(seen.length >= server.progress, `${seen.length} progress notifications, not ${server.progress}`);
  }

  async cancel(server) {
    const before = await ledger(server);
    const invoke = this.callTool(server, server.endless);
    assert.equal((await ledger(server, { calls: before.calls + 1 })).calls, before.calls + 1);
    const reason = "the user changed their mind";
    assert.deepEqual(await this.toolhost.call("cancel", { id: invoke.id, reason }), { cancelled: true });
    const { code, data } = await this.errorOf(invoke);
    assert.deepEqual([code, data.kind], [-32800, "cancelled"]);
    assert.equal((await ledger(server, { cancels: before.cancels + 1 })).cancels, before.cancels + 1);
    assert.deepEqual(await this.toolhost.call("cancel", { id: invoke.id }), { cancelled: false });
  }

  oneAnswerEach() {
    assert.deepEqual([...this.toolhost.answers].filter(([, count]) => count !== 1), []);
  }
}

/** Asks the server what it has seen; it answers when that is enough, or after 5 s. */
async function ledger(server, atLeast = {}) {
  const response = await fetch(`${server.ledger}?${new URLSearchParams(atLeast)}`);
  return response.json();
}

const names = (list) => list.map(({ name }) => name);

function contains(text, part) {
  assert.ok(text.includes(part), `${part} is not in ${text}`);
}

const driver = new Driver(JSON.parse(await readFile(process.argv[2], "utf8")));
process.exit(await driver.run()); // a child that is stuck must not keep this process
