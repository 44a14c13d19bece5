"""An MCP server on the official Python SDK, which speaks both eras at once.

    python3 server.py [--port N] [--era legacy|modern] [--reply sse|json]

The SDK cannot be told to refuse an era, so --era changes nothing: what is spoken
is the client's choice.
"""

import argparse
import json
import os
import socket
import sys
import threading

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

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
    return "\n".join([ctx.headers["mcp-protocol-version"], *await ledger.read(until)])


@mcp.tool(structured_output=False)
async def grow(ctx: Context) -> str:
    """Adds the tool grown."""
    mcp.add_tool(lambda: "grown", name="grown", description="A tool that was not always there.", structured_output=False)
    await ctx.notify_tools_changed()  # to those that listen as of 2026-07-28
    await ctx.session.send_tool_list_changed()  # to this session of an earlier revision
    return "there is a new tool"


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--era", choices=["legacy", "modern"], default="legacy")
    parser.add_argument("--reply", choices=["sse", "json"], default="sse")
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", options.port))
    print(json.dumps({"url": "http://127.0.0.1:%d/mcp" % listener.getsockname()[1]}), flush=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    app = mcp.streamable_http_app(json_response=options.reply == "json")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
