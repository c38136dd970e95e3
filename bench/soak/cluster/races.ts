import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { get, post, startOn, type Answer } from './requests.ts'

/** The races of two nodes, by name; each gives what is wrong with its outcome, or nothing. */
const RACES: Readonly<Record<string, (one: string, two: string) => Promise<string | undefined>>> = {
  async 'one start key'(one, two) {
    const [key, owner] = [randomUUID(), randomUUID()]
    const start = (url: string) =>
      post(url, '/api/agents/clerk/run', { input: 'Go.' }, owner, {
        prefer: 'respond-async',
        'idempotency-key': key
      })
    const answers = await Promise.all([start(one), start(two)])
    const { body } = await get(one, '/api/runs', owner)
    const ids = new Set(answers.map((answer) => answer.body.runId as string))
    const replayed = answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')
    const isRight =
      answers.every(({ status }) => status === 202) &&
      ids.size === 1 &&
      replayed.length === 1 &&
      body.runs?.length === 1
    return isRight ? undefined : describe(answers)
  },
  async 'one A2A message'(one, two) {
    const [messageId, owner] = [randomUUID(), randomUUID()]
    const message = {
      role: 'user',
      messageId,
      parts: [{ kind: 'text', text: 'Go.' }],
      metadata: { agentName: 'talker' }
    }
    const send = (url: string) =>
      post(
        url,
        '/a2a',
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'message/send',
          params: { message, configuration: { blocking: false } }
        },
        owner
      )
    const answers = await Promise.all([send(one), send(two)])
    const { body } = await get(two, '/api/runs', owner)
    const ids = new Set(answers.map((answer) => answer.body.result?.id as string | undefined))
    return ids.size === 1 && !ids.has(undefined) && body.runs?.length === 1 ? undefined : describe(answers)
  },
  async 'two answers to one approval'(one, two) {
    const runId = await startOn(one, 'agents/clerk')
    await whenWaiting(one, runId)
    const answer = (url: string, approved: boolean) =>
      post(url, `/api/approvals/${runId}.1`, { approved, reason: String(approved) })
    const answers = await Promise.all([answer(one, true), answer(two, false)])
    const statuses = answers.map(({ status }) => status)
    const text = String((await get(two, `/api/runs/${runId}/stream`)).body)
    const won = statuses.indexOf(200) === 0
    const isRight =
      ['200,409', '409,200'].includes(statuses.join()) &&
      text.split('"type":"tool.approval.response"').length === 2 &&
      text.includes(`"approved":${won}`)
    return isRight ? undefined : `${describe(answers)} ${text}`
  },
  async 'turns of one session'(one, two) {
    const [sessionId, owner] = [randomUUID(), randomUUID()]
    const turn = (url: string, input: string) =>
      post(url, '/api/agents/counter/run', { input, sessionId }, owner)
    const answers = await Promise.all([turn(one, 'a'), turn(two, 'b'), turn(one, 'c'), turn(two, 'd')])
    const texts = answers.map(({ body }) => body.text as string).toSorted()
    return texts.join() === '0,1,2,3' ? undefined : describe(answers)
  },
  async 'cancel against end'(one, two) {
    const runId = await startOn(one, 'agents/brief')
    await pause(Math.random() * 20)
    const canceled = await post(two, `/api/runs/${runId}/cancel`, {})
    const stream = String((await get(one, `/api/runs/${runId}/stream`)).body)
    const ends = stream.split('"type":"finish"').length - 1
    const { body } = await get(two, `/api/runs/${runId}`)
    const isCanceled = canceled.status === 200
    const isRight =
      ends === 1 &&
      (isCanceled || canceled.status === 409) &&
      body.status === (isCanceled ? 'canceled' : 'completed') &&
      stream.includes('"finishReason":"canceled"') === isCanceled
    return isRight ? undefined : `${describe([canceled])} ${JSON.stringify(body)} ${stream}`
  }
}

/** Runs each race so often, some at once; gives the wrong outcomes by race. */
export async function runRaces(one: string, two: string, count: number): Promise<Record<string, string[]>> {
  const wrong: Record<string, string[]> = {}
  for (const [name, race] of Object.entries(RACES)) {
    let left = count
    const all: string[] = []
    const client = async () => {
      while (left-- > 0) {
        const fault = await race(one, two)
        if (fault !== undefined) all.push(fault)
      }
    }
    await Promise.all(Array.from({ length: 10 }, client))
    wrong[name] = all
  }
  return wrong
}

async function whenWaiting(url: string, runId: string): Promise<void> {
  while ((await get(url, `/api/runs/${runId}`)).body.status !== 'input-required') await pause(10)
}

function describe(answers: readonly Answer[]): string {
  return answers
    .map(({ status, body }) => `${status} ${JSON.stringify(body)}`)
    .join(' | ')
    .slice(0, 1_000)
}
