// What the tools of this server did, one line for each event.

const patience = 5000; // ms

const lines = [];
const waiting = new Set();

export function write(line) {
  lines.push(line);
  for (const wake of waiting) wake();
}

// read returns all lines, as soon as `until` is one of them or patience ends.
export async function read(until) {
  if (until && !lines.includes(until)) {
    await new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        waiting.delete(wake);
        resolve();
      };
      const wake = () => lines.includes(until) && done();
      const timer = setTimeout(done, patience);
      waiting.add(wake);
    });
  }
  return [...lines];
}
