import { setTimeout as sleep } from 'node:timers/promises'
import { Value } from '@sinclair/typebox/value'
import {
  collectRun,
  isTerminalPart,
  requireKind,
  requireName,
  RunnableMetadataSchema,
  type NumberedPart,
  type RunInput,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import { createContext, createRunEngine } from '@svc/registry'
import { takePart } from '@svc/registry/engine'
import type { ContractTest } from './contract-test.ts'

/** Creates a fresh runnable to test; its answer must depend on its input only. */
export type MakeRunnable = () => Runnable | Promise<Runnable>

/** Options of the runnable contract. */
export interface RunnableContractOptions {
  /** Two inputs with different answers; default `'one'` and `'two'`. */
  inputs?: readonly [RunInput, RunInput]
  /** Texts that must not leak: keys, instructions. */
  secrets?: readonly string[]
  /** Creates a runnable whose model, tool or server never answers, so that only its signal ends it. */
  makeHanging?: MakeRunnable
  /** Milliseconds within which a runnable must react to its signal; default 1,000. */
  guard?: number
}

/** The contract of every runnable: agents, teams, workflows, remote agents, and your own. */
export function runnableContract(
  t: ContractTest,
  make: MakeRunnable,
  options: RunnableContractOptions = {}
): void {
  const { inputs = ['one', 'two'], secrets = [], makeHanging = make, guard = 1_000 } = options
  const [input] = inputs
  const check = (name: string, run: (t: ContractTest) => Promise<void>) => void t.test(name, {}, run)

  check('has a constant kind and name', async (t) => {
    const runnable = await make()
    const { kind, name } = runnable
    t.equal(requireKind(kind), kind)
    t.equal(requireName(name), name)
    await runnable.run(input, createContext())
    t.same([runnable.kind, runnable.name], [kind, name])
  })

  check('describes itself without secrets', async (t) => {
    const runnable = await make()
    const metadata = runnable.describe()
    t.same([metadata.kind, metadata.name], [runnable.kind, runnable.name])
    t.same([...Value.Errors(RunnableMetadataSchema, metadata)], [], 'metadata matches its schema')
    const json = JSON.stringify(metadata)
    t.same(JSON.parse(json), metadata, 'metadata is JSON')
    for (const [index, secret] of secrets.entries()) t.ok(!json.includes(secret), `secret ${index}`)
  })

  check('yields parts, and nothing after its end', async (t) => {
    const runnable = await make()
    let ended = false
    for await (const part of runnable.stream(input, createContext())) {
      t.ok(!ended, `no ${part.type} after the end`)
      takePart(part)
      for (const [index, secret] of secrets.entries())
        t.ok(!JSON.stringify(part).includes(secret), `secret ${index}`)
      ended = isTerminalPart(part)
    }
  })

  check('run returns what stream yields', async (t) => {
    const context = { runId: 'run', sessionId: 'session' }
    const alone = await (await make()).run(input, createContext(context))
    t.equal(alone.runId, 'run')
    t.equal(alone.sessionId, 'session')
    const [streamed] = await runTogether(await make(), [input])
    t.same(comparable(alone), comparable(streamed!))
  })

  check('parallel runs do not mix', async (t) => {
    const alone = [
      ...(await runTogether(await make(), [inputs[0]])),
      ...(await runTogether(await make(), [inputs[1]]))
    ]
    const together = await runTogether(await make(), inputs)
    t.same(together.map(comparable), alone.map(comparable))
    t.ok(together[0]!.runId !== together[1]!.runId)
  })

  check('ends when its signal aborts: before the start, at once, or later', async (t) => {
    for (const wait of [undefined, 0, 20]) {
      const controller = new AbortController()
      if (wait === undefined) controller.abort()
      else setTimeout(() => controller.abort(), wait)
      const context = createContext({ signal: controller.signal })
      const stream = (await makeHanging()).stream(input, context)
      t.ok(await endsWithin(stream, (wait ?? 0) + guard), `aborted after ${wait ?? 'no'} ms`)
    }
  })
}

/** Runs a runnable once per input, in parallel, in one engine with separate sessions. */
async function runTogether(runnable: Runnable, inputs: readonly RunInput[]): Promise<RunResult[]> {
  const engine = createRunEngine()
  try {
    const runs = await Promise.all(inputs.map((each) => engine.start(runnable, each)))
    return await Promise.all(
      runs.map(async (run) => {
        const parts: NumberedPart[] = []
        for await (const part of run.parts()) parts.push(part)
        await run.result()
        return collectRun(parts)
      })
    )
  } finally {
    await engine.close()
  }
}

// The fields of a result that are equal in all runs of the same input.
function comparable({ text, toolCalls, usage, structured, finishReason }: RunResult): object {
  const calls = toolCalls.map(({ durationMs: _, ...call }) => call)
  return { text, toolCalls: calls, usage, structured, finishReason }
}

async function endsWithin(stream: AsyncIterable<YieldedPart>, ms: number): Promise<boolean> {
  const guard = new AbortController()
  const late = sleep(ms, false, { signal: guard.signal })
  const end = (async () => {
    try {
      for await (const _ of stream);
    } catch {
      // A runnable may end by throwing the reason of its signal.
    }
    return true
  })()
  try {
    return await Promise.race([end, late])
  } finally {
    guard.abort()
    late.catch(() => {})
  }
}
