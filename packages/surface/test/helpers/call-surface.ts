import { createRegistry, createRunEngine } from '@svc/registry'
import { type Principal, type Runnable, type VoiceOutput } from '@svc/contract'
import { LiveCalls } from '../../src/calls/live-calls.ts'
import { resolvePolicy, type PolicyOptions } from '@svc/registry/engine'
import { type CallConnection, type CallEnd } from '../../src/calls/outputs.ts'
import { type LiveCall } from '../../src/calls/live-call.ts'

const named = (name: string) =>
  class extends Error {
    override name = name
  }

const ALICE: Principal = { sub: 'alice', scopes: ['runs:write'] }

/** What a test may ask for. */
export interface CallRequest extends PolicyOptions {
  runnables: readonly Runnable[]
  grace?: number
  clientTools?: boolean
}

/** The calls of a surface with an engine of its own. */
export function callSurface(
  t: { teardown(fn: () => unknown): unknown },
  { runnables, grace = 10_000, clientTools = false, ...policyOptions }: CallRequest
) {
  const runs = createRunEngine({ drainTimeout: 50 })
  t.teardown(() => runs.close())
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  const policy = resolvePolicy(policyOptions, runs.surfaces.policy)
  const exposed = runs.surfaces.add({ surface: 'test', registry, policy })
  const log = { ...console, debug() {}, error() {}, warn() {}, info() {}, child: () => log } as never
  const errors = {
    Forbidden: named('Forbidden'),
    MissingScope: named('MissingScope'),
    UnknownRunnable: named('UnknownRunnable'),
    ForeignUser: named('ForeignUser')
  }
  const surface = {
    runs,
    exposed,
    policy,
    log,
    errors,
    clientTools,
    clientInstructions: false,
    providerKeyHeaders: {}
  }
  const calls = new LiveCalls(surface, grace)
  const asked = {
    name: 'voice',
    principal: ALICE,
    headers: {},
    settings: {},
    canClear: true,
    reportsPlayback: true
  }
  const start = (more: Partial<typeof asked & { userId: string }> & { settings?: object } = {}) =>
    calls.start({ ...asked, ...more })
  return { runs, calls, start }
}

/** A connection that keeps what it is sent. */
export class TestConnection implements CallConnection {
  readonly outputs: VoiceOutput[] = []
  readonly positions: number[] = []
  end: CallEnd | 'replaced' | undefined
  /** Set: the connection is full until it resolves. */
  full: Promise<void> | undefined
  #onNews: (() => void) | undefined

  send(output: VoiceOutput, position: number): Promise<void> | undefined {
    this.outputs.push(output)
    this.positions.push(position)
    this.#onNews?.()
    return this.full
  }

  ended(end: CallEnd): void {
    this.end = end
    this.#onNews?.()
  }

  replaced(): void {
    this.end = 'replaced'
    this.#onNews?.()
  }

  get audio(): Buffer {
    return Buffer.concat(this.outputs.flatMap((each) => (each.type === 'audio' ? [each.audio] : [])))
  }

  types(): string[] {
    return this.outputs.map(({ type }) => type)
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => (this.#onNews = resolve))
  }

  /** Waits for the end of a response. */
  async response(count = 1): Promise<void> {
    await this.until(() => this.types().filter((type) => type === 'response.end').length >= count)
  }

  async over(): Promise<CallEnd | 'replaced'> {
    await this.until(() => this.end !== undefined)
    return this.end!
  }
}

/** Connects a new connection to a call. */
export function connect(call: LiveCall, after = 0): TestConnection {
  const connection = new TestConnection()
  call.connect(connection, after)
  return connection
}
