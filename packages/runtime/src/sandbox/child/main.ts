import { writeSync } from 'node:fs'
import { encodeFrame, FrameReader } from '../frames.ts'
import type { FromChild, ToChild } from '../sandbox-process.ts'
import { loadQuickJs } from './instance.ts'
import { Program, type ProgramEnd } from './program.ts'

const STDOUT = 1
const [coreUrl = '', variantUrl = '', maxMemory = ''] = process.argv.slice(2)
const makeInstance = await loadQuickJs(coreUrl, variantUrl, Number(maxMemory))
// For the next program, created while the child is idle.
let nextInstance = makeInstance()
let program: Program | undefined

const reader = new FrameReader(Infinity)
process.stdin.on('data', (chunk: Buffer) => {
  for (const json of reader.read(chunk)) void handle(JSON.parse(json) as ToChild)
})
process.stdin.on('end', () => process.exit())
await nextInstance
send(JSON.stringify({ type: 'ready' } satisfies FromChild))

async function handle(message: ToChild): Promise<void> {
  // A late answer to a call of a program that has failed.
  if (message.type === 'answer' && program === undefined) return
  try {
    if (message.type === 'run') program = new Program(await nextInstance, message)
    const end = message.type === 'run' ? program!.start() : program!.answer(message)
    if (end === undefined) sendCalls(program!)
    else sendEnd(end, end.fault !== 'timeout' && end.fault !== 'memory')
  } catch (err) {
    // QuickJS itself broke: discard the instance.
    const fault = err instanceof RangeError ? 'The stack overflowed' : 'The sandbox engine crashed'
    sendEnd({ fault: 'failed', message: fault }, false)
  }
}

function sendCalls(waiting: Program): void {
  const calls = waiting
    .takeCalls()
    .map(({ id, name, args }) => `{"id":${id},"name":${JSON.stringify(name)},"args":${args}}`)
  send(`{"type":"waiting","calls":[${calls.join(',')}]}`)
}

function sendEnd({ json, ...end }: ProgramEnd, clean: boolean): void {
  const { user, system } = process.cpuUsage()
  const cpu = (user + system) / 1000
  const message: FromChild = {
    type: 'done',
    ...end,
    console: program?.console ?? '',
    clean,
    cpu,
    rss: process.memoryUsage.rss()
  }
  const rest = JSON.stringify(message)
  send(json === undefined ? rest : `{"result":${json},${rest.slice(1)}`)
  program = undefined
  if (clean) nextInstance = makeInstance()
}

function send(json: string): void {
  const frame = encodeFrame(json)
  for (let sent = 0; sent < frame.length;) sent += writeSync(STDOUT, frame, sent)
}
