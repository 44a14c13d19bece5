// Loaded with `node --import keep.mjs` ahead of a server that this project did not
// write and does not edit. It appends what comes on stdin to the file that KEEP_STDIN
// names, as the server reads it, and reads nothing itself.

import { appendFileSync } from "node:fs";

const file = process.env.KEEP_STDIN;
const push = process.stdin.push;
process.stdin.push = function (chunk, encoding) {
  if (chunk !== null) appendFileSync(file, chunk);
  return push.call(this, chunk, encoding);
};
