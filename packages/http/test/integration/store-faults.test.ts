import { createInProcessStores, type RunContext } from '@svc/registry'
import { createFailingStores, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

const ask = async ({ approvals }: RunContext) =>
  approvals.request({ toolCallId: 'c', toolName: 'send', args: { text: 'x' } })

t.test(
  'while a store fails, every route that needs it answers 503, and says when to try again',
  async (t) => {
    const { stores, fail, work } = createFailingStores(createInProcessStores())
    const asking = scriptedRunnable([ask], { name: 'asking' })
    const { get, post, url, runs } = await buildApp(t, {
      runnables: [asking],
      engine: { stores },
      options: { authenticate: async () => ({ sub: 'ada', scopes: ['*', 'admin:*'], claims: {} }) }
    })
    const run = await runs.start(asking, 'Go', {
      principal: { sub: 'ada', scopes: ['*'] },
      ...runs.surfaces.policy
    })
    for await (const part of run.parts()) if (part.type === 'tool.approval.request') break
    const { runId } = run
    const inputId = (await runs.get(runId))!.inputs[0]!.inputId
    fail(new Error('connection refused at secret-host'))
    const requests: [method: string, path: string, body?: object][] = [
      ['GET', '/runs'],
      ['GET', `/runs/${runId}`],
      ['GET', `/runs/${runId}/stream`],
      ['GET', `/runs/${runId}/files/x`],
      ['POST', `/runs/${runId}/cancel`],
      ['GET', '/approvals'],
      ['GET', `/approvals/${inputId}`],
      ['POST', `/approvals/${inputId}`, { approved: true }],
      ['GET', '/inputs'],
      ['GET', `/inputs/${inputId}`],
      ['POST', `/inputs/${inputId}`, { action: 'cancel' }],
      ['GET', '/admin/runs'],
      ['POST', '/agents/asking/run', { input: 'x' }],
      ['POST', '/agents/asking/stream', { input: 'x' }]
    ]
    for (const [method, path, body] of requests) {
      const response = method === 'GET' ? await get(path) : await post(path, body)
      t.match(response.headers.get('retry-after'), /^\d+$/, `${method} ${path}`)
      const answer = await requireError(t, response, 503, 'RUN_ERR_STORE')
      t.notMatch(JSON.stringify(answer), /secret-host/)
    }
    t.equal((await fetch(`${url}/livez`)).status, 200)
    t.equal((await get('/agents')).status, 200)
    work()
    t.equal((await get(`/runs/${runId}`)).status, 200)
  }
)
