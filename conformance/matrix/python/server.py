"""An MCP server on the official Python SDK, which speaks both eras at once.

    python3 server.py [--port N] [--era legacy|modern] [--reply sse|json] [--stdio FILE]

The SDK cannot be told to refuse an era, so --era changes nothing: what is spoken
is the client's choice. With --stdio it serves on stdin and stdout, and appends what
comes on stdin to the file.
"""

import argparse
import json
import os
import socket
import sys
import threading
from typing import Annotated

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

PATIENCE = 5  # seconds

mcp = MCPServer("python", version="1.0.0", log_level="WARNING")


class Ledger:
    """What the tools of this server did, one line for each event."""

    def __init__(self):
        self.lines = []
        self.changed = anyio.Event()  # set and replaced at each line

    def write(self, line):
        self.lines.append(line)
        self.changed.set()
        self.changed = anyio.Event()

    async def read(self, until):
        """Returns all lines, as soon as `until` is one of them or PATIENCE ends."""
        with anyio.move_on_after(PATIENCE):
            while until and until not in self.lines:
                await self.changed.wait()
        return self.lines


ledger = Ledger()


@mcp.tool(structured_output=False)
def echo(text: str) -> str:
    """Answers with the text."""
    ledger.write(f"echo {text}")
    return text


@mcp.tool(structured_output=False)
async def slow(text: str, ms: float, ctx: Context) -> str:
    """Takes ms milliseconds in five steps, with progress after each."""
    ledger.write(f"slow {text}")
    for step in range(1, 6):
        try:
            await anyio.sleep(ms / 5000)
        except anyio.get_cancelled_exc_class():
            ledger.write(f"cancelled {text}")
            raise
        await ctx.report_progress(step, 5)  # does nothing for a client that did not ask
    return text


@mcp.tool(name="ledger", structured_output=False)
async def read_ledger(ctx: Context, until: str = "") -> str:
    """Answers with the revision spoken and what the tools did."""
    revision = (ctx.headers or {}).get("mcp-protocol-version", "")  # none over stdio
    return "\n".join([revision, *await ledger.read(until)])


@mcp.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    """Adds the tool grown."""
    mcp.add_tool(lambda: "grown", name="grown", description="A tool that was not always there.", structured_output=False)
    await ctx.notify_tools_changed()  # to those that listen as of 2026-07-28
    await ctx.session.send_tool_list_changed()  # to this session of an earlier revision
    return "there is a new tool"


class Answer(BaseModel):
    yes: bool
    times: int = 3


def question():
    return Elicit("Go on?", Answer)


@mcp.tool(structured_output=False)
async def ask(answer: Annotated[ElicitationResult[Answer], Resolve(question)]) -> str:
    """Asks the user, and answers with the answer."""
    return answer.data.model_dump_json() if isinstance(answer, AcceptedElicitation) else answer.action


@mcp.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Say hello to {name}."


@mcp.resource("memo://one", name="memo", mime_type="text/plain")
def memo() -> str:
    return "remember the milk"


def keep_stdin(file):
    """Puts a pipe in the place of stdin, and copies to it and to the file what comes."""
    source = os.dup(0)
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)

    def copy():
        with open(file, "ab", buffering=0) as kept:
            while data := os.read(source, 1 << 16):
                kept.write(data)
                while data:
                    data = data[os.write(writer, data) :]
        os.close(writer)

    threading.Thread(target=copy, daemon=True).start()


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--era", choices=["legacy", "modern"], default="legacy")
    parser.add_argument("--reply", choices=["sse", "json"], default="sse")
    parser.add_argument("--stdio", metavar="FILE")
    options = parser.parse_args()
    if options.stdio:
        keep_stdin(options.stdio)
        mcp.run("stdio")
        return
    listener = socket.create_server(("127.0.0.1", options.port))
    print(json.dumps({"url": "http://127.0.0.1:%d/mcp" % listener.getsockname()[1]}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    app = mcp.streamable_http_app(json_response=options.reply == "json")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
