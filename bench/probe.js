// Preloaded into a measured server (`node --import`). It does nothing until a command arrives on the socket BENCH_PROBE.
import { createServer } from 'node:net'
import { GCProfiler, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let profiler
let usedBefore

const COMMANDS = {
  /** Begins to count allocations. */
  start() {
    profiler = new GCProfiler()
    profiler.start()
    usedBefore = process.memoryUsage().heapUsed
    return 0
  },
  /** Returns the bytes allocated on the heap since `start`: the growth between collections. Buffers are not included. */
  stop() {
    let used = usedBefore
    let allocated = process.memoryUsage().heapUsed
    for (const { beforeGC, afterGC } of profiler.stop().statistics) {
      allocated += beforeGC.heapStatistics.usedHeapSize - used
      used = afterGC.heapStatistics.usedHeapSize
    }
    return allocated - used
  },
  /** Returns the bytes that are in use after a full garbage collection. */
  collect() {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    return process.memoryUsage().heapUsed
  },
}

const { BENCH_PROBE: path } = process.env
// Workers must not inherit it.
delete process.env.BENCH_PROBE
if (path !== undefined) {
  createServer((socket) => {
    socket.once('data', (command) => socket.end(String(COMMANDS[command]())))
  })
    .listen(path)
    .unref()
}
