import {
  defineRunnable,
  type Answer,
  type PendingApproval,
  type PendingInput,
  type RunContext,
  type RunRecord
} from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import type { SecuredApp } from './secured-app.ts'

/** An agent that asks once before it goes on, and tells what it was answered. */
export function asking(name = 'asking', timeout = 60_000) {
  return scriptedRunnable(
    [
      async ({ approvals, log }) => {
        const request = { toolCallId: 'c', toolName: 'send', args: { to: 'ada' }, timeout }
        log.info({ outcome: await approvals.request(request) }, 'answered')
      },
      { type: 'text', text: 'on it goes' }
    ],
    { name }
  )
}

/** An agent that waits once, and says what it was answered. */
export function waitingFor(wait: (context: RunContext) => Promise<Answer>, name = 'waiting') {
  return defineRunnable({
    kind: 'agent',
    name,
    run: async (_input, context) => JSON.stringify(await wait(context))
  })
}

/** Starts a run that waits for an approval, and gives what it waits for. */
export async function startAsking(
  app: Pick<SecuredApp, 'ask'>,
  caller: Record<string, string> = {},
  name = 'asking'
): Promise<PendingApproval> {
  return start(app, caller, name, ({ pendingApprovals }) => pendingApprovals[0])
}

/** Starts a run that waits for another input, and gives what it waits for. */
export async function startWaiting(
  app: Pick<SecuredApp, 'ask'>,
  caller: Record<string, string> = {},
  name = 'waiting'
): Promise<PendingInput> {
  return start(app, caller, name, ({ pendingInputs }) => pendingInputs[0])
}

async function start<T>(
  { ask }: Pick<SecuredApp, 'ask'>,
  caller: Record<string, string>,
  name: string,
  find: (record: RunRecord) => T | undefined
): Promise<T> {
  const headers = { ...caller, prefer: 'respond-async' }
  const started = await ask('POST', `/agents/${name}/run`, headers, { input: 'x' })
  const { runId } = (await started.json()) as { runId: string }
  for (let i = 0; i < 200; i++) {
    const record = (await (await ask('GET', `/runs/${runId}`, caller)).json()) as RunRecord
    const found = find(record)
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('it does not ask')
}
