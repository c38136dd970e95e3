import { Type } from '@sinclair/typebox'
import { createRunEngine, type NumberedPart, type RunEngine, type Runnable } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { survive, type Survived } from '../helpers/crashing.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const secret = 'tok-3f9a-secret'
const schema = Type.Object({ token: Type.String() })
const asked = { message: 'Sign in', schema }

/** An agent with a tool that needs credentials, and what it got. */
function signing(got: unknown[], idempotent = false): Agent {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ toolName: 'sign', toolCallId: 'c' }] }
  )
  const sign = defineTool({
    name: 'sign',
    description: 'Signs in',
    input: Type.Object({}),
    idempotent,
    async execute(_args, { requestCredentials }) {
      const { action, credentials } = await requestCredentials(asked)
      got.push(credentials?.reveal())
      return { action, credentials }
    }
  })
  return new Agent({ name: 'signing', register: false, model, tools: [sign] })
}

/** A workflow with a step that needs credentials. */
function flow(got: unknown[]): Runnable {
  return makeWorkflow((steps) =>
    steps.step('sign', async ({ context }) => {
      const { credentials } = await context.requestCredentials(asked)
      got.push(credentials?.reveal())
      return 'signed'
    })
  )
}

/** Gives credentials to each request. */
const answer = (engine: RunEngine, part: NumberedPart) =>
  part.type === 'input.request' &&
  engine.answer(part.inputId, { action: 'accept', content: { token: secret } }).catch(() => {})

async function everythingOf({ stores, runId, parts, sessionId }: Survived): Promise<string> {
  const session = {
    registry: 'global',
    kind: 'agent',
    name: 'signing',
    owner: 'anonymous',
    sessionId
  } as const
  return JSON.stringify([parts, await stores.runs.get(runId), await stores.sessions.load(session, 100)])
}

t.test('a tool of an agent gets credentials, which its result cannot show', async (t) => {
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const got: unknown[] = []
  const run = await engine.start(signing(got), 'Go')
  for await (const part of run.parts()) await answer(engine, part)
  t.same(got, [{ token: secret }])
  t.match((await run.result()).toolCalls, [{ result: { action: 'accept', credentials: '[redacted]' } }])
})

t.test(
  'whenever its process dies, an agent gets credentials it can use, and leaves them nowhere',
  async (t) => {
    for (const idempotent of [true, false]) {
      let interrupted = 0
      const { appends } = await survive(() => signing([], idempotent), [], { onPart: answer })
      for (let lifetime = 1; lifetime < appends; lifetime++) {
        const got: unknown[] = []
        const survived = await survive(() => signing(got, idempotent), [lifetime], { onPart: answer })
        t.equal(survived.status, 'completed')
        t.notMatch(await everythingOf(survived), secret)
        const [call] = survived.result!.toolCalls
        if (call?.error === undefined) t.match(got.at(-1), { token: secret })
        else t.equal((interrupted++, call.error.code), 'RUN_ERR_TOOL_INTERRUPTED')
      }
      t.equal(interrupted > 0, !idempotent)
    }
  }
)

t.test(
  'whenever its process dies, a step of a workflow asks again for credentials that are lost',
  async (t) => {
    const { appends } = await survive(() => flow([]), [], { onPart: answer })
    let most = 0
    for (let lifetime = 1; lifetime < appends; lifetime++) {
      const got: unknown[] = []
      const survived = await survive(() => flow(got), [lifetime], { onPart: answer })
      t.equal(survived.status, 'completed')
      t.notMatch(await everythingOf(survived), secret)
      t.ok(got.length > 0 && got.every((each) => JSON.stringify(each) === JSON.stringify({ token: secret })))
      most = Math.max(most, survived.parts.filter(({ type }) => type === 'input.request').length)
    }
    t.equal(most, 2)
  }
)
