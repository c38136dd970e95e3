import t from 'tap'
import { ProgramRun } from '../../src/sandbox/quickjs-sandbox.ts'
import { SandboxProcess } from '../../src/sandbox/sandbox-process.ts'
import { SANDBOX_LIMITS, type HostTool } from '../../src/sandbox/sandbox.ts'

const LIMITS = { ...SANDBOX_LIMITS, timeout: 2_000, maxToolCalls: 3 }
const FAILED = { error: { code: 'RUN_ERR_SANDBOX_FAILED' } }
const DONE = { type: 'done', console: '', clean: true, cpu: 1, rss: 1 }

/** The outcome of a program in a child that runs this code for every message. */
async function runIn(child: string, tools: Record<string, HostTool> = {}) {
  const script = `
    const say = (value) => {
      const json = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
      const head = Buffer.alloc(4)
      head.writeUInt32BE(json.length)
      process.stdout.write(Buffer.concat([head, json]))
    }
    const DONE = ${JSON.stringify(DONE)}
    let received = 0
    process.stdin.on('data', () => { received++; ${child} })`
  const process = new SandboxProcess({ file: globalThis.process.execPath, args: ['-e', script] }, false)
  const run = new ProgramRun(process, { code: '', tools }, 'null', LIMITS)
  const { outcome } = await run.ended
  const { isKilled } = process
  process.kill('closed')
  await process.gone
  return { ...outcome, isKilled }
}

const LIES: Record<string, string> = {
  'no JSON': "say('{')",
  'no message': "say({ type: 'other' })",
  'a message without its fields': "say({ type: 'done' })",
  'a fault that there is not': "say({ ...DONE, fault: 'other' })",
  'ready again': "say({ type: 'ready' })",
  'a frame that is too long': 'process.stdout.write(Buffer.from([255, 255, 255, 255]))',
  'bytes without end': 'setInterval(() => process.stdout.write(Buffer.alloc(65536, 1)))',
  'more than it was asked': "say({ type: 'waiting', calls: [] }); say({ type: 'waiting', calls: [] })",
  'calls without end':
    "say({ type: 'waiting', calls: Array.from({ length: 4 }, (_, id) => ({ id, name: 'a', args: 1 })) })",
  'a call twice':
    "say({ type: 'waiting', calls: [{ id: 1, name: 'a', args: 1 }, { id: 1, name: 'a', args: 1 }] })",
  'nothing, and dies': 'process.exit(1)',
  'nothing, and crashes': "process.kill(process.pid, 'SIGSEGV')"
}

for (const [name, child] of Object.entries(LIES))
  t.test(`a child that sends ${name}`, async (t) => {
    t.match(await runIn(child, { a: async () => 1 }), { ...FAILED, isKilled: true })
  })

t.test('a child that sends nothing', async (t) => {
  t.match(await runIn(''), { error: { code: 'RUN_ERR_PROGRAM_TIMEOUT' } })
})

t.test('results that an uncompromised child would refuse', async (t) => {
  const poisoned = await runIn('say(\'{"result":{"__proto__":{"a":1}},\' + JSON.stringify(DONE).slice(1))')
  t.match(poisoned, { error: { code: 'RUN_ERR_TOOL_BAD_OUTPUT' } })
  const deep = await runIn(
    "say('{\"result\":' + '['.repeat(9999) + ']'.repeat(9999) + ',' + JSON.stringify(DONE).slice(1))"
  )
  t.match(deep, { error: { code: 'RUN_ERR_TOOL_BAD_OUTPUT' } })
  const chatty = await runIn("say({ ...DONE, console: 'x'.repeat(50_000) })")
  t.equal(chatty.console.length, LIMITS.maxConsoleBytes)
})

t.test('tools that the program does not have', async (t) => {
  for (const name of ['toString', '__proto__', 'b']) {
    const call = { id: 1, name, args: {} }
    const child = `say(received === 1 ? { type: 'waiting', calls: [${JSON.stringify(call)}] } : DONE)`
    let called = false
    t.match(await runIn(child, { a: async () => (called = true) }), { result: null })
    t.notOk(called)
  }
})
