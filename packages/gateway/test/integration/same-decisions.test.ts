import { createJwtAuthenticate, createScopeAuthorize, type RbacOptions } from '@svc/http'
import { RUNNABLE_KINDS, type Principal, type RunEngine, type RunnableDefinition } from '@svc/registry'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import * as gatewayErrors from '../../src/errors.ts'
import { buildGateway, type Client } from '../helpers/build-gateway.ts'
import { random } from '../helpers/random.ts'
import { SECRET, signToken } from '../helpers/sign-token.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const TRIPLES = 1_200

const rbac: RbacOptions = {
  agentScopes: { special: ['special:use'] },
  teamScopes: { special: ['teams:special'] },
  defaultScopes: { 'POST /workflows/:name/run': ['flows:go'] }
}
const SCOPES = [
  'agents:run',
  'agents:*',
  'teams:run',
  'workflows:run',
  'flows:go',
  'special:use',
  'teams:special',
  'approvals:answer',
  'agents:read',
  'admin:*',
  '*',
  'agents',
  ''
]
const NAMES = ['plain', 'special', 'none', 'constructor']
const SUBS = ['ann', 'bob', 'admin']

const waiting = (kind: RunnableDefinition['kind'], name: string): RunnableDefinition => ({
  kind,
  name,
  async *stream(_input, { approvals }) {
    await approvals.request({ toolCallId: 'c', toolName: 'pay', args: {} })
    yield { type: 'text', text: 'paid' }
  }
})
const runnables = RUNNABLE_KINDS.flatMap((kind) => ['plain', 'special'].map((name) => waiting(kind, name)))

/** What happened, in a way that both can be asked for. */
interface Decision {
  statusCode: number
  /** The error's code without the prefix of its surface. */
  what: string
}

t.setTimeout(80_000)

t.test(`${TRIPLES} random callers, actions and runnables: decided alike on both; SEED=${SEED}`, async (t) => {
  const jwt = { secret: SECRET }
  const authenticate = await createJwtAuthenticate(jwt)
  const { connect, origin, runs, registry } = await buildGateway(t, {
    runnables,
    engine: { limits: { maxRuns: 10_000, maxRunsPerOwner: 10_000 } },
    http: { jwt, rbac },
    options: {
      authenticate,
      authorize: createScopeAuthorize(rbac),
      limits: { eventsPerSecond: 100_000, runs: 100_000 }
    }
  })
  const next = random(SEED)
  const pick = <const T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  const outcomes = new Map<string, number>()

  for (let triple = 0; triple < TRIPLES; triple++) {
    const scopes = SCOPES.filter(() => next() < 0.22)
    const sub = pick(SUBS)
    const token = signToken({ sub, scopes: next() < 0.5 ? scopes : scopes.join(' ') })
    const kind = pick(RUNNABLE_KINDS)
    const name = pick(NAMES)
    const action = pick(['run', 'foreign user', 'watch', 'cancel', 'answer'] as const)
    const owner: Principal = { sub: pick(SUBS), scopes: [] }
    const client = await connect({ auth: { token } })
    const post = (path: string, body: object = {}) => callHttp(`${origin}/api${path}`, token, body)

    let decided: [http: Decision, socket: Decision]
    if (action === 'run' || action === 'foreign user') {
      const body = { input: 'Go', ...(action === 'foreign user' && { userId: pick(SUBS) }) }
      decided = [
        await post(`/${kind}s/${name}/run`, body),
        await emit(client, `${kind}.run`, { name, ...body })
      ]
    } else {
      const ask = async () => prepare(runs, registry.get(kind, name), owner)
      const [first, second] = [await ask(), await ask()]
      const ids = first && second ? [first, second] : [NOTHING, NOTHING]
      const [{ runId, approvalId }, other] = ids as [typeof NOTHING, typeof NOTHING]
      if (action === 'watch')
        decided = [
          await callHttp(`${origin}/api/runs/${runId}`, token),
          await emit(client, 'run.watch', { runId })
        ]
      else if (action === 'cancel')
        decided = [
          await post(`/runs/${runId}/cancel`),
          await emit(client, 'run.cancel', { runId: other.runId })
        ]
      else
        decided = [
          await post(`/approvals/${approvalId}`, { approved: true }),
          await emit(client, 'approval.answer', { approvalId: other.approvalId, approved: true })
        ]
    }
    client.disconnect()
    const [http, socket] = decided
    const triplet = JSON.stringify({ sub, scopes, action, kind, name, owner: owner.sub })
    if (http.statusCode !== socket.statusCode || http.what !== socket.what) t.same(socket, http, triplet)
    const outcome = `${action}: ${http.statusCode}`
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  for (const expected of [
    'run: 200',
    'run: 403',
    'run: 404',
    'foreign user: 403',
    'watch: 200',
    'watch: 404'
  ])
    t.ok(outcomes.has(expected), `${expected} is among them`)
  for (const expected of ['cancel: 200', 'cancel: 404', 'answer: 200', 'answer: 404'])
    t.ok(outcomes.has(expected), `${expected} is among them`)
  t.comment(Object.fromEntries(outcomes))
})

const NOTHING = { runId: 'none', approvalId: 'none.1' }

/** A run that waits for an approval. */
async function prepare(
  runs: RunEngine,
  runnable: Parameters<RunEngine['start']>[0] | undefined,
  owner: Principal
) {
  if (runnable === undefined) return undefined
  const { runId } = await runs.start(runnable, 'Go', { principal: owner })
  for (;;) {
    const [approval] = (await runs.get(runId))!.inputs
    if (approval !== undefined) return { runId, approvalId: approval.inputId }
    await wait(1)
  }
}

async function callHttp(url: string, token: string, body?: object): Promise<Decision> {
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${token}`,
      prefer: 'respond-async',
      ...(body && { 'content-type': 'application/json' })
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) })
  })
  const { code = '' } = (await response.json()) as { code?: string }
  const { status } = response
  return { statusCode: status === 202 ? 200 : status, what: withoutSurface(code) }
}

async function emit(client: Client, event: string, payload: object): Promise<Decision> {
  const answer = (await client.emitWithAck(event as 'run.cancel', payload as { runId: string })) as object
  if (!('code' in answer)) return { statusCode: 200, what: '' }
  const code = String(answer.code)
  return { statusCode: STATUS[withoutSurface(code)] ?? 0, what: withoutSurface(code) }
}

const withoutSurface = (code: string) => code.replace(/^(?:HTTP|GTW)_ERR_/, '')

const STATUS: Record<string, number> = {
  RUN_ERR_NOT_FOUND: 404,
  RUN_ERR_INPUT_NOT_FOUND: 404,
  ...Object.fromEntries(
    Object.entries(gatewayErrors).map(([code, Fault]) => [
      withoutSurface(code),
      new Fault('' as never).statusCode
    ])
  )
} as Record<string, number>
