#!/usr/bin/env python3
"""Drives `toolhost serve` through every step of a scenario and prints one JSON line a step.

    python3 driver.py scenario.json

Python 3.10 or later, standard library only. The class Toolhost is a whole host in
a hundred lines: copy it.
"""

import collections
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import threading
import urllib.request


class ToolhostError(Exception):
    """An error that toolhost answered: a code, a message, and data with its kind."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data") or {}


class Toolhost:
    """A toolhost child process. Methods may be called from any thread."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers = collections.Counter()  # answers seen so far, by id
        self.statuses = {}  # of each server, by name
        self._progress = {}  # functions, by the id of an invoke
        self._pending = {}  # futures, by id
        self._ids = itertools.count(1)
        self._lock = threading.Lock()  # held while a message is registered and written
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, method, params, on_progress=None):
        """Sends a request; returns its id and a future of its result."""
        request_id = next(self._ids)
        future = concurrent.futures.Future()
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            if self._ended:
                raise EOFError("toolhost has ended")
            self._pending[request_id] = future  # before the write: the answer may come at once
            if on_progress:
                self._progress[request_id] = on_progress
            self.process.stdin.write(line)
            self.process.stdin.flush()
        return request_id, future

    def call(self, method, params, timeout=30):
        """Sends a request and returns its result, or raises ToolhostError."""
        return self.send(method, params)[1].result(timeout)

    def invoke(self, tool, arguments, **options):
        """Sends an invoke; returns its id and a future of its result."""
        on_progress = options.pop("on_progress", None)
        params = {"tool": tool, "arguments": arguments, "progress": on_progress is not None, **options}
        return self.send("invoke", params, on_progress)

    def wait_until_started(self, server, timeout=30):
        """Waits until a server is no longer `loading` and returns its status."""
        with self._changed:
            started = self._changed.wait_for(
                lambda: self.statuses.get(server, {}).get("status", "loading") != "loading", timeout)
        if not started:
            raise TimeoutError(f"{server} is still loading")
        return self.statuses[server]

    def end(self, timeout):
        """Closes stdin, which asks the child to end, and returns its exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout)

    def _read(self):
        # Iterating over a pipe in binary mode splits at \n alone, at any length.
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self._notification(message["method"], message["params"])
                continue
            self.answers[message["id"]] += 1
            self._progress.pop(message["id"], None)
            future = self._pending.pop(message["id"], None)
            if future is None:
                continue
            if "error" in message:
                future.set_exception(ToolhostError(message["error"]))
                continue
            # Statuses are noted here, in the order they came: whoever waits for the
            # answer to `ready` may wake after a `status` that is newer.
            self._note_statuses(message["result"].get("servers", []))
            future.set_result(message["result"])
        with self._lock:
            self._ended = True
        for future in self._pending.values():
            future.set_exception(EOFError("toolhost has ended"))

    def _notification(self, method, params):
        if method == "status":
            self._note_statuses(params["servers"])
        elif method == "progress":
            self._progress.get(params["invoke"], lambda params: None)(params)

    def _note_statuses(self, servers):
        with self._changed:
            self.statuses.update((server["name"], server) for server in servers)
            self._changed.notify_all()


# What follows performs the scenario with it.


class Driver:
    def __init__(self, scenario):
        self.scenario = scenario
        self.toolhost = Toolhost(scenario["command"])
        self.failed = False

    def run(self):
        self.step("", "construct", self.construct)
        self.step("", "bad entry", self.bad_entry)
        for server in self.scenario["servers"]:
            for name, perform in [
                ("ready", self.ready),
                ("list", self.list_all),
                ("list one namespace", self.list_namespace),
                ("list one tool", self.list_tool),
                ("echo", lambda s: self.content(s, s["echo"])),
                ("image", lambda s: self.content(s, s["image"])),
                ("structured", lambda s: self.content(s, s["structured"])),
                ("resource link", lambda s: self.content(s, s["link"])),
                ("isError", self.tool_error),
                ("unknown tool", self.unknown_tool),
                ("long call", self.long_call),
                ("cancel", self.cancel),
            ]:
                self.step(server["name"], name, perform, server)
            if server["progress"]:
                self.step(server["name"], "progress", self.progress, server)
        self.step("", "close", self.close)
        self.step("", "end of file", self.end_of_file)
        self.step("", "one answer each", self.one_answer_each)
        return 1 if self.failed else 0

    def step(self, server, name, perform, *arguments):
        try:
            detail, ok = perform(*arguments) or "", True
        except Exception as problem:  # whatever went wrong is this step's result
            detail, ok = f"{type(problem).__name__}: {problem}", False
            self.failed = True
        print(json.dumps({"server": server, "step": name, "ok": ok, "detail": str(detail)}), flush=True)

    def construct(self):
        entries = {server["name"]: {"url": server["url"]} for server in self.scenario["servers"]}
        entries["bad"] = {"command": "npx", "args": ["-y", "some-server"]}
        result = self.toolhost.call("construct", {
            "protocol": "1", "pack": "runvil/mcp", "id": "mcp", "config": entries,
            "host": {"name": "driver.py", "version": "1.0", "capabilities": {"progress": True, "status": True}},
        })
        same(result["protocol"], "1")
        same([tool["name"] for tool in result["tools"]], ["mcp/get_dynamic_tools", "mcp/call_dynamic_tool"])
        self.toolhost.call("ready", {"id": "mcp"})

    def bad_entry(self):
        status = self.toolhost.wait_until_started("bad")
        same(status["status"], "error")
        same(status["error"], "local MCP servers (command) are not supported yet")

    def ready(self, server):
        status = self.toolhost.wait_until_started(server["name"])
        same(status["status"], "ready", status.get("error"))
        same(status["toolCount"], len(server["tools"]))

    def dynamic_tools(self, **arguments):
        _, future = self.toolhost.invoke("mcp/get_dynamic_tools", arguments)
        result = future.result(30)
        same(result["untrusted"], True)
        return result["content"]

    def list_all(self, server):
        namespaces = json.loads(self.dynamic_tools())["namespaces"]
        same([n["namespace"] for n in namespaces], sorted([s["name"] for s in self.scenario["servers"]] + ["bad"]))
        listed = next(n for n in namespaces if n["namespace"] == server["name"])
        same(listed["tools"], [tool["name"] for tool in server["tools"]])

    def list_namespace(self, server):
        text = self.dynamic_tools(namespace=server["name"])
        same([tool["name"] for tool in json.loads(text)["tools"]], [tool["name"] for tool in server["tools"]])
        for tool in server["tools"]:  # the schemas, byte for byte
            contains(text, '"inputSchema":' + tool["schema"])

    def list_tool(self, server):
        tool = server["tools"][0]
        text = self.dynamic_tools(namespace=server["name"], toolName=tool["name"])
        same(json.loads(text)["namespace"], server["name"])
        same(json.loads(text)["name"], tool["name"])
        contains(text, '"inputSchema":' + tool["schema"])

    def call_tool(self, server, call, **options):
        arguments = {"namespace": server["name"], "toolName": call["tool"], "arguments": call["arguments"]}
        return self.toolhost.invoke("mcp/call_dynamic_tool", arguments, **options)

    def content(self, server, call):
        result = self.call_tool(server, call)[1].result(30)
        same(result["untrusted"], True)
        same(result["content"], call["content"])

    def error_of(self, future):
        try:
            result = future.result(30)
        except ToolhostError as error:
            return error
        raise AssertionError(f"a result came: {result}")

    def tool_error(self, server):
        error = self.error_of(self.call_tool(server, server["fails"])[1])
        same((error.code, error.data["kind"], error.data["untrusted"]), (-32002, "backend", True))
        contains(str(error), server["fails"]["content"])

    def unknown_tool(self, server):
        error = self.error_of(self.call_tool(server, {"tool": "no-such-tool", "arguments": {}})[1])
        same((error.code, error.data["kind"]), (-32001, "message"))
        contains(str(error), "no-such-tool")

    def long_call(self, server):
        self.content(server, server["slow"])

    def progress(self, server):
        seen = []
        _, future = self.call_tool(server, server["slow"], on_progress=seen.append)
        same(future.result(30)["content"], server["slow"]["content"])
        steps = [params["progress"] for params in seen]
        same(steps, sorted(set(steps)))  # it only grows
        if len(steps) < server["progress"]:
            raise AssertionError(f"{len(steps)} progress notifications, not {server['progress']}")

    def cancel(self, server):
        before = ledger(server)
        invoke, future = self.call_tool(server, server["endless"])
        same(ledger(server, calls=before["calls"] + 1)["calls"], before["calls"] + 1)
        same(self.toolhost.call("cancel", {"id": invoke, "reason": "the user changed their mind"}), {"cancelled": True})
        error = self.error_of(future)
        same((error.code, error.data["kind"]), (-32800, "cancelled"))
        same(ledger(server, cancels=before["cancels"] + 1)["cancels"], before["cancels"] + 1)
        same(self.toolhost.call("cancel", {"id": invoke}), {"cancelled": False})

    def close(self):
        self.toolhost.call("close", {"id": "mcp"})

    def end_of_file(self):
        same(self.toolhost.end(timeout=3), 0)

    def one_answer_each(self):
        same([request for request, count in self.toolhost.answers.items() if count != 1], [])


def ledger(server, **at_least):
    """Asks the server what it has seen; it answers when that is enough, or after 5 s."""
    query = "&".join(f"{name}={count}" for name, count in at_least.items())
    with urllib.request.urlopen(f"{server['ledger']}?{query}", timeout=10) as response:
        return json.load(response)


def same(got, want, hint=None):
    if got != want:
        raise AssertionError(f"got {got!r}, not {want!r}" + (f" ({hint})" if hint else ""))


def contains(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        driver = Driver(json.load(file))
    status = driver.run()
    sys.stdout.flush()
    os._exit(status)  # a child that is stuck must not keep this process
