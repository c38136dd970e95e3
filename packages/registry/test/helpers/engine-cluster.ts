import type { NumberedPart, PartOf, Run, RunEngine, RunEngineOptions, Runnable } from '@svc/registry'
import { codeOf as codeOfCall, createTestCluster, steppedRunnable, type TestNode } from '@svc/testing'
import type { Test } from 'tap'
import { buildEngine } from './collect.ts'

/** A node of a test: its stores, and its engine. */
export interface Member {
  readonly node: TestNode
  readonly engine: RunEngine
}

/** Engines on shared stores, each with these runnables, and their take-over begun. */
export async function cluster(
  t: Test,
  runnables: readonly Runnable[],
  size = 2,
  options: RunEngineOptions = {},
  clock?: () => number
): Promise<Member[]> {
  const shared = createTestCluster(clock)
  const members: Member[] = []
  for (let count = 0; count < size; count++) {
    const node = shared.join()
    const engine = buildEngine(t, { ...options, stores: node.stores })
    for (const runnable of runnables) await engine.resume(runnable)
    await engine.recover()
    members.push({ node, engine })
  }
  return members
}

/** A workflow of two steps. The first one ends when `release` is called; `done` has the steps that began. */
export function createHeldFlow() {
  const done: string[] = []
  const one = Promise.withResolvers<void>()
  const flow = steppedRunnable(['one', 'two'], async (name) => {
    done.push(name)
    if (name === 'one') await one.promise
    return name
  })
  return { flow, done, release: one.resolve }
}

export const textOf = (parts: readonly NumberedPart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

export function requireWhole(t: Test, parts: readonly NumberedPart[]): void {
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1),
    'no gap, nothing twice'
  )
}

/** As `codeOf` of the tests of stores, for a call in progress. */
export const codeOf = (promise: Promise<unknown>) => codeOfCall(() => promise)

/** Keeps the process of a test alive until its end: the timers of engines do not. */
export function stayAlive(t: Test): void {
  const timer = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(timer))
}

/** The first request for an input of a run, after a part. */
export async function requestOf(
  run: Pick<Run, 'parts'>,
  after = 0
): Promise<NumberedPart & PartOf<'input.request'>> {
  for await (const part of run.parts(after)) if (part.type === 'input.request') return part
  throw new Error('the run asks for nothing')
}
